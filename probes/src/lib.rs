//! Small programs, each blocked in exactly one known way.
