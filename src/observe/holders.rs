//! Who holds what: the descriptor tables of the processes of a job.

use std::collections::BTreeMap;

use nix::sys::stat::SFlag;

use super::objects::{self, Controlling};
use super::{FileId, Holder, Kernel, Object, ObjectId, Pid, ReadError, TtyId};

/// What a process's descriptor table says that matters to others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    /// Shared objects, with what the process can do with them.
    pub(super) holds: Vec<(ObjectId, Holder)>,
    /// Terminals it has open, by descriptor.
    pub(super) terminals: Vec<(i32, TtyId)>,
    /// Masters it holds, by descriptor.
    pub(super) masters: Vec<(i32, TtyId)>,
}

/// Reads the table of a process through one of its threads.
pub(super) fn table(kernel: &mut dyn Kernel, pid: Pid, thread: Pid) -> Result<Table, ReadError> {
    let mut table = Table::default();
    for fd in kernel.fds(thread)? {
        let Ok(stat) = kernel.fd_stat(thread, fd) else { continue };
        let holder = Holder { pid, read: stat.read, write: stat.write };
        match SFlag::from_bits_truncate(stat.mode & SFlag::S_IFMT.bits()) {
            SFlag::S_IFIFO => {
                let pipe = FileId { dev: stat.dev, ino: stat.ino };
                table.holds.push((ObjectId::Pipe(pipe), holder));
            }
            SFlag::S_IFSOCK => table.holds.push((ObjectId::Socket(stat.ino), holder)),
            SFlag::S_IFREG | SFlag::S_IFDIR | SFlag::S_IFBLK => {}
            _ => match objects::of_stat(kernel, thread, fd, stat, Controlling::default()) {
                Object::Master(tty) => {
                    table.masters.push((fd, tty));
                    table.holds.push((ObjectId::Master(tty), holder));
                }
                Object::Terminal(tty) => {
                    table.terminals.push((fd, tty));
                    table.holds.push((ObjectId::Terminal(tty), holder));
                }
                Object::EventFd { id: Some(id) } => {
                    table.holds.push((ObjectId::EventFd(id), holder));
                }
                _ => {}
            },
        }
    }
    Ok(table)
}

/// The tables of several processes by object; one entry a process, its rights joined.
pub(super) fn by_object<'t>(
    tables: impl Iterator<Item = &'t Table>,
) -> BTreeMap<ObjectId, Vec<Holder>> {
    let mut objects: BTreeMap<ObjectId, Vec<Holder>> = BTreeMap::new();
    for (object, holder) in tables.flat_map(|table| &table.holds) {
        let holders = objects.entry(*object).or_default();
        match holders.iter_mut().find(|known| known.pid == holder.pid) {
            Some(known) => {
                known.read |= holder.read;
                known.write |= holder.write;
            }
            None => holders.push(*holder),
        }
    }
    objects
}
