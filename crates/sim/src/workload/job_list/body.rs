//! What one stage runs on and for how long: the hardware as in a job file, and the truth.

use crate::workload::Truth;
use crate::workload::read_error::ReadError;
use crate::workload::value;
use crate::workload::yaml::Fields;
use consort_types::file::body::{Dialect, form, members};
use consort_types::file::fields;
use consort_types::{Form, Role, Span};

/// The fields read here.
pub(super) const FIELDS: [&str; fields::count(fields::BODY, fields::LIST)] =
    fields::names(fields::BODY, fields::LIST);

/// What a stage consists of, less its name and its place in the graph.
pub(super) struct Body {
    pub form: Form,
    pub roles: Vec<Role>,
    pub length: Span,
}

/// Takes [`FIELDS`] from a job or a stage.
pub(super) fn read(fields: &mut Fields) -> Result<Body, ReadError> {
    let form = form(fields)?;
    let length = match form {
        Form::Service { .. } => {
            fields.refuse_beside("replicas", &["run"])?;
            Truth::FOREVER
        }
        Form::Gang | Form::Bag { .. } => fields.need("run")?.read("run", value::span)?,
    };
    let roles = members(fields, Dialect::List)?.into_iter().map(|member| member.role).collect();
    Ok(Body { form, roles, length })
}
