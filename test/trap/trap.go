package trap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif.
type notification struct {
	ID    uint64
	PID   uint32
	Flags uint32
	NR    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// Run runs a program in the trap, and calls decide at each call, from one goroutine. Root only.
// When the context ends, the program is killed.
func Run(ctx context.Context, command []string, env []string, decide func(Call) Decision) (Outcome, error) {
	return run(ctx, command, append(env, launchEnv+"=1"), mutating, decide)
}

// Look is Run, but also stops before the calls by which a program looks at files.
func Look(ctx context.Context, command []string, env []string, decide func(Call) Decision) (Outcome, error) {
	return run(ctx, command, append(env, launchEnv+"="+launchLooking), slices.Concat(looking, mutating), decide)
}

func run(ctx context.Context, command []string, env []string, list []trapped, decide func(Call) Decision) (Outcome, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "/proc/self/exe", command...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = io.Writer(&out), io.Writer(&errs)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		return Outcome{}, fmt.Errorf("start in the trap: %w", err)
	}
	var err error
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s := &supervisor{list: list, decide: decide}
	if s.listener, err = takeListener(cmd.Process.Pid, ended); err == nil {
		defer unix.Close(s.listener)
		err = s.serve()
	}
	switch {
	case errors.Is(err, errEnded): // without a call that is trapped: it would have waited there
		err = nil
	case err != nil:
		_ = cmd.Cancel()
	}
	o := Outcome{Calls: s.calls, Killed: s.killed}
	werr := <-ended
	var exited *exec.ExitError
	switch {
	case errors.As(werr, &exited):
		o.Code = exited.ExitCode()
	case werr != nil && err == nil:
		err = fmt.Errorf("wait for the trapped program: %w", werr)
	}
	o.Stdout, o.Stderr = out.String(), errs.String()
	return o, err
}

var errEnded = errors.New("take the listener: the program ended before")

// takeListener gets the listener out of the program, as soon as it is there.
func takeListener(pid int, ended chan error) (int, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) { // ended, and waited for
		return -1, errEnded
	}
	if err != nil {
		return -1, fmt.Errorf("open the program's pidfd: %w", err)
	}
	defer unix.Close(pidfd)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Microsecond) {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, listenerFD))
		if err == nil && strings.Contains(link, "seccomp") {
			fd, err := unix.PidfdGetfd(pidfd, listenerFD, 0)
			if err == nil {
				return fd, nil
			}
			if !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EBADF) { // else it is ending
				return -1, fmt.Errorf("take the listener: %w", err)
			}
		}
		select {
		case err := <-ended:
			ended <- err
			return -1, errEnded
		default:
		}
		if time.Now().After(deadline) {
			return -1, errors.New("take the listener: it does not come")
		}
	}
}

type supervisor struct {
	listener int
	list     []trapped
	decide   func(Call) Decision
	calls    []Call
	killed   bool
}

// serve answers until the last process of the program is gone.
func (s *supervisor) serve() error {
	for {
		poll := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return fmt.Errorf("wait for a call: %w", err)
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return nil // nobody is in the trap any more
		}
		var n notification
		if err := ioctl(s.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
				continue // who called is gone
			}
			return fmt.Errorf("receive a call: %w", err)
		}
		r := s.answer(n)
		if err := s.send(&r); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("answer a call: %w", err)
		}
	}
}

// send answers a call. The runtime's signal to its own threads may interrupt that while another
// thread of the program makes a call.
func (s *supervisor) send(r *response) error {
	for {
		if err := ioctl(s.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(r)); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (s *supervisor) answer(n notification) response {
	pass := response{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if s.killed {
		return response{ID: n.ID, Error: -int32(unix.EINTR)} // a thread that does not know yet that it is dead
	}
	c, counts := inspect(s.list, n)
	if !counts {
		return pass
	}
	c.N = len(s.calls) + 1
	s.calls = append(s.calls, c)
	d := s.decide(c)
	switch {
	case d.Kill:
		s.killed = true
		_ = unix.Kill(int(n.PID), unix.SIGKILL) // gone already is as good
		return response{ID: n.ID, Error: -int32(unix.EINTR)}
	case d.Errno != 0:
		return response{ID: n.ID, Error: -int32(d.Errno)}
	}
	return pass
}

// inspect names a call, and says whether it changes anything.
func inspect(list []trapped, n notification) (Call, bool) {
	for _, t := range list {
		if int32(t.number) != n.NR {
			continue
		}
		c := Call{Name: t.name}
		m := memory(n.PID)
		switch t.kind {
		case onPath, opens:
			c.Target = m.text(n.Args[1])
		case onNewPath:
			c.Target = m.text(n.Args[3])
		case onLink:
			c.Target = m.text(n.Args[2])
		case onPlain:
			c.Target = m.text(n.Args[0])
		case onFD:
			c.Target = m.link(n.Args[0])
		case opens2:
			c.Target = m.text(n.Args[1])
			if binary.LittleEndian.Uint64(m.bytes(n.Args[2], 8))&writeFlags == 0 {
				return c, false
			}
		case writes:
			c.Target = m.link(n.Args[0])
			return c, strings.HasPrefix(c.Target, "socket:") || strings.HasPrefix(c.Target, "/") && !strings.HasPrefix(c.Target, "/dev/")
		case sends:
			c.Target = m.link(n.Args[0])
			return c, t.name != "sendto" || !asks(m.bytes(n.Args[1], 8))
		}
		return c, !strings.HasPrefix(c.Target, "/dev/")
	}
	return Call{}, false
}

// asks says that a message is one to rtnetlink that only reads: their types are three modulo four,
// counted from RTM_NEW… (rtnetlink(7)).
func asks(head []byte) bool {
	kind := binary.LittleEndian.Uint16(head[4:])
	return kind >= unix.RTM_BASE && kind < 0x80 && kind%4 == 2
}

// memory is a process whose arguments are read.
type memory uint32

func (m memory) bytes(at uint64, n int) []byte {
	buf := make([]byte, n)
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", m))
	if err != nil {
		return buf
	}
	defer f.Close()
	_, _ = f.ReadAt(buf, int64(at)) // what cannot be read is zero: only the description suffers
	return buf
}

func (m memory) text(at uint64) string {
	buf := m.bytes(at, 256)
	if i := bytes.IndexByte(buf, 0); i >= 0 {
		buf = buf[:i]
	}
	return string(buf)
}

func (m memory) link(fd uint64) string {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", m, int32(fd)))
	if err != nil {
		return fmt.Sprintf("fd %d", int32(fd))
	}
	return link
}

func ioctl(fd int, request uint, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
