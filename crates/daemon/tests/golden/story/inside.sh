#!/bin/sh
# inside.sh PROGRAM...: as on a machine called node1, with nothing of this one's environment.
exec unshare --uts sh -c 'hostname node1 && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv/consort LANG=C.UTF-8 "$@"' sh "$@"
