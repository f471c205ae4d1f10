// Package child starts the servers and machines of a test so that they cannot outlive it, not even
// when it is killed.
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

// Start starts the command in a session of its own (no terminal's Ctrl-C reaches it) and has the
// kernel kill it when this process ends. What it starts in turn is its own affair. Who starts it
// calls Kill, or waits for Ended.
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

// Output runs the command to its end and returns what it wrote, on both streams.
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

// Err is how it exited: nil for status 0. To be asked once Ended is closed.
func (p *Process) Err() error { return p.exit }

// Kill ends it and waits for its end. It may have ended before.
func (p *Process) Kill() {
	select {
	case <-p.Ended:
	default:
		p.cmd.Process.Kill()
		<-p.Ended
	}
}
