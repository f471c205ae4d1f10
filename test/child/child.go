// Package child starts the servers and machines of a test. They end with the test, even if the test
// is killed.
package child

import (
	"bytes"
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a started child.
type Process struct {
	PID   int
	Ended <-chan struct{} // closed when it has exited

	cmd  *exec.Cmd
	exit error
}

// Start starts the command in its own session, so that no terminal's Ctrl-C reaches it. The kernel
// kills the command when this process ends, but not the processes that the command starts. The
// caller calls Kill, or waits for Ended.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	ended, started := make(chan struct{}), make(chan error)
	p := &Process{Ended: ended, cmd: cmd}
	go func() {
		// The kernel sends the signal when the starting thread ends, not the process: this one
		// lives as long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.exit = cmd.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.PID = cmd.Process.Pid
	return p, nil
}

// Output runs the command to its end, and returns its output on both streams.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	<-p.Ended
	return out.Bytes(), p.Err()
}

// Err is the error of the exit, nil for status 0. Call it only after Ended is closed.
func (p *Process) Err() error { return p.exit }

// Kill kills the process and waits for its end. The process may have ended before.
func (p *Process) Kill() {
	select {
	case <-p.Ended:
	default:
		p.cmd.Process.Kill()
		<-p.Ended
	}
}
