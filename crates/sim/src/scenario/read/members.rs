//! The members of a gang, of one task or of one replica: `2 to 4 x 8 h200 or mi300x within rack and 2 cpu`.

use super::Reader;
use crate::scenario::words::Words;
use crate::workload::{ReadError, limits, value};
use consort_types::*;

impl Reader<'_> {
    /// `gang of MEMBERS`, `bag of 10 tasks of MEMBERS`, `service of 2 replicas of MEMBERS`.
    pub(super) fn form(&self, words: &mut Words<'_>) -> Result<Option<(Form, Vec<Role>)>, ReadError> {
        let mut counted = |first: &str, names: &[&str]| -> Result<Option<u32>, ReadError> {
            if !words.take(first) {
                return Ok(None);
            }
            words.need(&["of"])?;
            let count = words.read("a number", |text| value::count(text, 1, limits::TASKS))?;
            words.need(names)?;
            Ok(Some(count))
        };
        let form = if let Some(tasks) = counted("bag", &["tasks", "task"])? {
            Form::Bag { tasks }
        } else if let Some(replicas) = counted("service", &["replicas", "replica"])? {
            Form::Service { replicas }
        } else if words.take("gang") {
            Form::Gang
        } else {
            return Ok(None);
        };
        words.need(&["of"])?;
        Ok(Some((form, self.members(words)?)))
    }

    fn members(&self, words: &mut Words<'_>) -> Result<Vec<Role>, ReadError> {
        let mut roles: Vec<Role> = vec![];
        loop {
            let min = words.read("a number of members", value::width)?;
            let max = match words.take("to") {
                true => words.read("a number of members", value::width)?,
                false => min,
            };
            let name = if roles.is_empty() { "worker".into() } else { format!("helper {}", roles.len()) };
            let mut shapes = vec![self.shape(words)?];
            while words.take("or") {
                shapes.push(self.shape(words)?);
            }
            roles.push(Role { name, count: Count { min, max }, shapes });
            while modifier(words, &mut roles)? {}
            if !words.take("and") {
                return Ok(roles);
            }
        }
    }

    /// `h200`, `x 8 h200`, `devices`, `seats` for members that want no device.
    fn shape(&self, words: &mut Words<'_>) -> Result<Shape, ReadError> {
        if words.take("seats") || words.take("seat") {
            return Ok(Shape { devices: 0, ..Shape::any() });
        }
        let devices = match words.take("x") {
            true => words.read("a number of devices for each member", value::width)?,
            false => 1,
        };
        let kind = match words.take("devices") || words.take("device") {
            true => None,
            false => Some(words.read("a kind of device", value::name)?),
        };
        Ok(Shape { kind, devices, ..Shape::any() })
    }
}

/// `share 0.5`, `memory 20GiB`, `within rack`, `needs nvlink`, `prefers rack`, `feature ib`, `precision fp8`, `cpus 8`, `ram 64GiB`,
/// `larger on oom`: said of every shape of the last role.
pub(super) fn modifier(words: &mut Words<'_>, roles: &mut [Role]) -> Result<bool, ReadError> {
    let Some(role) = roles.last_mut() else { return Ok(false) };
    if words.take("share") {
        let share = words.read("a share", value::share)?;
        role.shapes.iter_mut().for_each(|shape| shape.share = share);
    } else if words.take("memory") {
        let memory = words.read("an amount of memory", value::memory)?;
        role.shapes.iter_mut().for_each(|shape| shape.memory_bytes = memory);
    } else if words.take("within") || words.take("needs") {
        let level = words.read("a level or a link", value::name)?;
        role.shapes.iter_mut().for_each(|shape| shape.within = Some(level.clone()));
    } else if words.take("prefers") {
        let level = words.read("a level or a link", value::name)?;
        role.shapes.iter_mut().for_each(|shape| shape.prefer = Some(level.clone()));
    } else if words.take("cpus") {
        let cpu_milli = words.read("a number of processors", value::processors)?;
        role.shapes.iter_mut().for_each(|shape| shape.host.cpu_milli = cpu_milli);
    } else if words.take("ram") {
        let memory = words.read("an amount of memory", value::memory)?;
        role.shapes.iter_mut().for_each(|shape| shape.host.memory_bytes = memory);
    } else if words.take("larger") {
        words.need(&["on"])?;
        words.need(&["oom"])?;
        role.shapes.iter_mut().for_each(|shape| shape.on_oom = OnOom::Larger);
    } else if words.take("precision") {
        let precision = words.read("a number format", value::precision)?;
        role.shapes.iter_mut().for_each(|shape| shape.precisions.push(precision));
    } else if words.take("feature") {
        let feature = words.read("the name of a feature", value::name)?;
        for shape in &mut role.shapes {
            shape.features.push(feature.clone());
            shape.features = value::sorted(std::mem::take(&mut shape.features));
        }
    } else {
        return Ok(false);
    }
    Ok(true)
}
