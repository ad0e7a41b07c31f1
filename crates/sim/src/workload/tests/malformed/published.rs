//! The same for logs and workloads of others.

use super::*;

#[test]
fn standard_workload_format() {
    let cases: &[(&str, &str)] = &[
        ("; nothing but a comment\n", "no error"),
        ("1 2 3\n", "l.swf:1:1: 3 fields, expected the 18 of the Standard Workload Format"),
        (
            "; MaxProcs: 8\n1 0 0 soon 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
            "l.swf:2:7: `run time` is `soon`, expected a time like 90s, 1h30m, 2d or 1.5s, or -1 when it is not known",
        ),
        (
            "1 -5 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
            "l.swf:1:3: `submit time` is `-5`, expected a time from 0s to 100 years",
        ),
        (
            "1 0 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n1 0 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
            "l.swf:2:1: duplicate job name `1`",
        ),
        (
            "1 0 0 9 1 -1 -1 9999999 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n",
            "l.swf:1:17: `requested processors` is `9999999`, expected a whole number from 0 to 1,000,000, or -1 when it is not known",
        ),
    ];
    check(cases, |text| swf::parse("l.swf", text.as_bytes()).err());
    let machines: &[(&str, &str)] = &[
        ("; Computer: old\n1 0 0\n", "l.swf:1:1: missing comment `MaxProcs` or `MaxNodes` at the top"),
        (
            "; Computer: old\n; MaxProcs: many\n",
            "l.swf:2:1: `MaxProcs` is `many`, expected a whole number from 1 to 1,000,000",
        ),
    ];
    check(machines, |text| swf::parse_cluster("l.swf", text.as_bytes()).err());
}

#[test]
fn philly_logs() {
    let job = |more: &str| {
        format!(r#"[{{"status": "Pass", "vc": "v", "jobid": "a", "attempts": [], "user": "u", {more}}}]"#)
    };
    let (date, late) = (r#""submitted_time": "yesterday""#, r#""submitted_time": "2017-10-07 01:11:39""#);
    let (bad, extra, missing) = (job(date), job(&format!(r#"{late}, "color": 3"#)), job(r#""status": 1"#));
    let cases: &[(&str, &str)] = &[
        ("", "p.json:1: is not JSON (EOF while parsing a value), expected a list of jobs"),
        ("{}", "p.json:1: invalid type: map, expected a sequence"),
        ("[{", "p.json:1:2: is not JSON (EOF while parsing an object), expected a list of jobs"),
        (
            &bad,
            "p.json:1:104: a value is `yesterday`, expected a date and time like 2020-06-09 18:41:01, from 1970 to 2069",
        ),
        (
            &extra,
            "p.json:1:122: unknown field `color`, expected one of `status`, `vc`, `jobid`, `attempts`, `submitted_time`, `user`",
        ),
        (&missing, "p.json:1:82: duplicate field `status`"),
        ("[{}]", "p.json:1:3: missing field `status` of a job or attempt"),
    ];
    check(cases, |text| philly::parse("p.json", text.as_bytes()).err());
    let machines: &[(&str, &str)] = &[
        ("m1,8\n", "m.csv:1:1: 2 fields, expected 3: machineId, number of GPUs, single GPU mem"),
        (
            "m1,none, 24GB\n",
            "m.csv:1:4: `number of GPUs` is `none`, expected a whole number from 1 to 1,000,000",
        ),
        (
            "m1,8, 24GB\nm1,8, 24GB\n",
            "m.csv:2:1: `machineId` is `m1`, expected a name that no earlier machine has",
        ),
    ];
    check(machines, |text| philly::parse_cluster("m.csv", text.as_bytes()).err());
}

#[test]
fn logs_of_helios_and_pai() {
    let helios: &[(&str, &str)] = &[
        ("job_id,user,vc,gpu_num,submit_time\n", "h.csv:1:1: missing column `duration`"),
        (
            "job_id,user,vc,gpu_num,submit_time,duration\n1,u,v,1,2020-02-30 00:00:00,5\n",
            "h.csv:2:9: `submit_time` is `2020-02-30 00:00:00`, expected a date and time like 2020-06-09 18:41:01, from 1970 to 2069",
        ),
        (
            "job_id,user,vc,gpu_num,submit_time,duration\n1,u,v,1,2020-02-20 00:00:00,-5\n",
            "h.csv:2:29: `duration` is `-5`, expected whole seconds, from 0 to 100 years",
        ),
    ];
    check(helios, |text| helios_log::parse("h.csv", text.as_bytes()).err());
    let pai: &[(&str, &str)] = &[
        (
            "a,b,1.0,Terminated\n",
            "t.csv:1:1: 4 fields, expected 10: job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem, plan_gpu, gpu_type",
        ),
        (
            "a,b,1.0,Terminated,1.0,2.0,600.0,2.5,half,T4\n",
            "t.csv:1:38: `plan_gpu` is `half`, expected hundredths of a device, like 50 for half of one, at most 1,000,000 devices",
        ),
        (
            "a,b,1000000,Terminated,1.0,2.0,600.0,2.5,200,T4\n",
            "t.csv:1:42: asks for more than 1,000,000 devices at once",
        ),
    ];
    check(pai, |text| pai::parse(("t.csv", text.as_bytes()), None).err());
    let jobs = b"a,i,u,Terminated,then,2.0\n";
    let error =
        pai::parse(("t.csv", b"a,b,1,Terminated,1,2,6,2,100,T4\n"), Some(("j.csv", jobs))).unwrap_err();
    let expected = "j.csv:1:18: `start_time` is `then`, expected a time like 90s, 1h30m, 2d or 1.5s";
    assert_eq!(error.to_string(), expected);
    let error = read::parse_workload("pai_job_table.csv", jobs).unwrap_err();
    let expected =
        "pai_job_table.csv: is PAI's table of jobs, which has no devices, expected its table of tasks";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn workloads_of_other_simulators() {
    let gavel: &[(&str, &str)] = &[
        ("LM\tpython\n", "g.trace:1:1: 2 fields, expected 10 as Gavel writes them, or 12 as Shockwave does"),
        (
            "LM\tc\tf\t-n\t1\t50\t1\t1\t-1\t0\n",
            "g.trace:1:13: the line has steps and no duration, expected a table of throughputs, simulation_throughputs.json, beside the file",
        ),
        (
            "LM\tc\tf\t-n\t1\t50\t0\tgns\t1\t-1\t9\t0\n",
            "g.trace:1:16: `scale factor` is `0`, expected a whole number from 1 to 1,000,000",
        ),
        (
            "LM\tc\tf\t-n\t1\t50\t1\tfast\t1\t-1\t9\t0\n",
            "g.trace:1:18: `mode` is `fast`, expected static, accordion or gns",
        ),
    ];
    check(gavel, |text| gavel::parse("g.trace", text.as_bytes(), None).err());
    let throughputs: &[(&str, &str)] = &[
        ("[]", "t.json:1: is not a table of throughputs, expected steps a second by kind, type and `null`"),
        (r#"{"k80": {}}"#, "t.json: missing kind `v100`"),
    ];
    check(throughputs, |text| gavel::Throughputs::parse("t.json", text.as_bytes()).err());
    let sia: &[(&str, &str)] = &[
        (
            "name,time,application,num_replicas,batch_size\na,0,bert,1,12\n",
            "s.csv:1:1: missing column `duration` or `gpu_time`: run times cannot be derived, since profiles of applications are not read",
        ),
        (
            "name,time,application,num_replicas,duration\na,0,bert,1,\n",
            "s.csv:2:12: `duration` is empty, expected a time like 90s, 1h30m, 2d or 1.5s",
        ),
    ];
    check(sia, |text| sia::parse("s.csv", text.as_bytes()).err());
    let header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time";
    let pod = |row: &str| format!("{header}\n{row}\n");
    let (none, gold, blank) =
        (pod("a,1,1,1,0,,LS,x,0,1,0"), pod("a,1,1,1,1,,gold,x,0,1,0"), pod("a,1,1,1,1,T4|,LS,x,0,1,0"));
    let openb: &[(&str, &str)] = &[
        (
            &none,
            "o.csv:2:9: `gpu_milli` is `0`, expected a whole number from 1 to 1,000, since `num_gpu` is not 0",
        ),
        (&gold, "o.csv:2:12: `qos` is `gold`, expected BE, LS, Burstable or Guaranteed"),
        (&blank, "o.csv:2:11: `gpu_spec` is `T4|`, expected a name of 1 to 256 printable characters"),
    ];
    check(openb, |text| openb::parse_pods("o.csv", text.as_bytes()).err());
    let nodes: &[(&str, &str)] = &[(
        "sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,\n",
        "n.csv:2:9: `model` is empty, expected a name of 1 to 256 printable characters",
    )];
    check(nodes, |text| openb::parse_nodes("n.csv", text.as_bytes()).err());
}
