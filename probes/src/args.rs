//! The options of a probe: `--name` or `--name=value`, checked before the probe begins.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::str::FromStr;

use crate::failure::Failure;

#[derive(Debug)]
pub(crate) struct Args(Vec<String>);

impl Args {
    pub(crate) fn new(
        args: impl IntoIterator<Item = OsString>,
        known: &[&str],
    ) -> Result<Args, Failure> {
        args.into_iter().map(|arg| checked(arg, known)).collect::<Result<_, _>>().map(Args)
    }

    /// Was this flag given?
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|arg| arg == flag)
    }

    /// The value after `name`, which ends in `=`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|arg| arg.strip_prefix(name))
    }

    /// The same, parsed; `default` where the option was not given.
    pub(crate) fn value<T: FromStr>(&self, name: &str, default: T) -> Result<T, Failure> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| Failure::Usage(format!("bad value in {name}{text}")))
            }
        }
    }
}

fn checked(arg: OsString, known: &[&str]) -> Result<String, Failure> {
    let name_length =
        arg.as_bytes().iter().position(|&byte| byte == b'=').map_or(arg.len(), |at| at + 1);
    match arg.into_string() {
        Ok(text) if known.contains(&&text[..name_length]) => Ok(text),
        Ok(text) => Err(Failure::Usage(format!("this probe has no option {text}"))),
        Err(bytes) => Err(Failure::Usage(format!("not UTF-8: {}", bytes.display()))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn args(given: &[&str]) -> Result<Args, Failure> {
        Args::new(given.iter().map(OsString::from), &["--reader", "--count="])
    }

    #[test]
    fn flags_and_values_are_found() {
        let args = args(&["--count=5", "--reader"]).unwrap();
        assert!(args.has("--reader"));
        assert_eq!(args.value("--count=", 2).unwrap(), 5);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for wrong in ["--counts=5", "--reader=1", "count", "--count"] {
            assert!(args(&[wrong]).is_err(), "{wrong}");
        }
        assert!(args(&["--count=x"]).unwrap().value("--count=", 2).is_err());
    }
}
