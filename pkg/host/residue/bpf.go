package residue

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file calls bpf(2), of which x/sys/unix has the constants but no function. Each struct is the
// part of union bpf_attr that its command reads, or an answer (include/uapi/linux/bpf.h). A kernel
// that knows fewer fields accepts zeros in the others, and ignores the rest of an answer.

// mostPrograms is how many programs the kernel attaches at one hook at the most
// (BPF_CGROUP_MAX_PROGS, BPF_MPROG_MAX).
const mostPrograms = 64

// bpf makes a call, and returns its file descriptor if the command has one.
func bpf[T any](command uintptr, attributes *T) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(unsafe.Pointer(attributes)), unsafe.Sizeof(*attributes))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

type bpfQuery struct {
	target, attach uint32
	_              [2]uint32 // flags
	programs       *[mostPrograms]uint32
	count, _       uint32
	_              uint64 // flags of each program
	links          *[mostPrograms]uint32
	_              [2]uint64 // flags of each link, and a revision
}

// attached lists the programs at a hook of a cgroup (target is its file descriptor).
func attached(target int, attach uint32) ([]uint32, error) {
	query := bpfQuery{target: uint32(target), attach: attach, programs: new([mostPrograms]uint32),
		count: mostPrograms}
	if _, err := bpf(unix.BPF_PROG_QUERY, &query); err != nil {
		return nil, err
	}
	return query.programs[:query.count], nil
}

// attachedByLinks lists the programs at a hook of TCX (target is the index of a device), and the
// eBPF link that attaches each; 0 if none does.
func attachedByLinks(target int, attach uint32) (programs, links []uint32, err error) {
	query := bpfQuery{target: uint32(target), attach: attach, programs: new([mostPrograms]uint32),
		count: mostPrograms, links: new([mostPrograms]uint32)}
	if _, err := bpf(unix.BPF_PROG_QUERY, &query); err != nil {
		return nil, nil, err
	}
	return query.programs[:query.count], query.links[:query.count], nil
}

// openByID opens a program (BPF_PROG_GET_FD_BY_ID) or an eBPF link (BPF_LINK_GET_FD_BY_ID). The
// caller closes it.
func openByID(command uintptr, id uint32) (int, error) {
	return bpf(command, &struct{ id, next, flags uint32 }{id: id})
}

// inform reads what the kernel knows of an open program or eBPF link.
func inform[T any](fd int, into *T) error {
	_, err := bpf(unix.BPF_OBJ_GET_INFO_BY_FD, &struct {
		fd, size uint32
		into     *T
	}{uint32(fd), uint32(unsafe.Sizeof(*into)), into})
	return err
}

// nameOfProgram returns the name that the kernel has of a program, "" if it has none.
func nameOfProgram(id uint32) (string, error) {
	fd, err := openByID(unix.BPF_PROG_GET_FD_BY_ID, id)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var info struct {
		_    [64]byte
		name [unix.BPF_OBJ_NAME_LEN]byte
	}
	if err := inform(fd, &info); err != nil {
		return "", err
	}
	name, _, _ := bytes.Cut(info.name[:], []byte{0})
	return string(name), nil
}

// detachFrom detaches a program from a hook of a cgroup (target is its file descriptor).
func detachFrom(target int, attach, program uint32) error {
	fd, err := openByID(unix.BPF_PROG_GET_FD_BY_ID, program)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = bpf(unix.BPF_PROG_DETACH, &struct{ target, program, attach, flags uint32 }{uint32(target), uint32(fd),
		attach, 0})
	return err
}

// detachLink detaches what an eBPF link attaches.
func detachLink(id uint32) error {
	fd, err := openByID(unix.BPF_LINK_GET_FD_BY_ID, id)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = bpf(unix.BPF_LINK_DETACH, &struct{ fd, flags uint32 }{fd: uint32(fd)})
	return err
}

// bpfLink is what the kernel knows of an eBPF link. at is the index of the device of a link at XDP,
// and has no use at a cgroup, where attach is the hook.
type bpfLink struct {
	kind, id, program, _ uint32
	at, _, attach, _     uint32
}

// eachLink calls visit with each eBPF link of the machine, until visit returns true.
func eachLink(visit func(bpfLink) bool) error {
	for last := uint32(0); ; {
		next := struct{ last, next, flags uint32 }{last: last}
		if _, err := bpf(unix.BPF_LINK_GET_NEXT_ID, &next); err == unix.ENOENT {
			return nil // it was the last
		} else if err != nil {
			return err
		}
		last = next.next
		fd, err := openByID(unix.BPF_LINK_GET_FD_BY_ID, last)
		if err == unix.ENOENT {
			continue // it is gone
		}
		if err != nil {
			return err
		}
		var link bpfLink
		err = inform(fd, &link)
		unix.Close(fd)
		if err != nil {
			return err
		}
		if visit(link) {
			return nil
		}
	}
}
