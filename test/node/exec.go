package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Result is the end of a command in a node.
type Result struct {
	Stdout, Stderr string
	Code           int // exit status; 255 when a signal ended it
}

// asking are commands that only ask, or ask systemd to act: nothing on the node depends on the unit
// or the cgroup that they run in.
var asking = []string{
	"cat", "grep", "journalctl", "ls", "networkctl", "nmcli", "ping", "readlink", "sha256sum", "ss", "stat",
	"systemctl", "test", "wc",
}

// Run runs a command as a transient service of the node: in the node's namespaces, in its own
// cgroup, and with the environment that systemd gives. A command that only asks needs no service. A
// command that exits with another status than 0 is a result, and not an error of the test.
func (n *Node) Run(ctx context.Context, command string, args ...string) Result {
	n.t.Helper()
	in := n.run
	if slices.Contains(asking, command) {
		in = n.enter
	}
	result, err := in(ctx, append([]string{command}, args...)...)
	if err != nil {
		n.t.Fatalf("node %s: running %s: %v", n.name, command, err)
	}
	return result
}

// Must runs a command that must succeed, and returns its standard output.
func (n *Node) Must(ctx context.Context, command string, args ...string) string {
	n.t.Helper()
	result := n.Run(ctx, command, args...)
	if result.Code != 0 {
		n.t.Fatalf("node %s: %s %s: exit %d\n%s%s", n.name, command, strings.Join(args, " "), result.Code, result.Stdout, result.Stderr)
	}
	return result.Stdout
}

// Shell runs a script that must succeed with the node's /bin/sh -eu, and returns its standard
// output.
func (n *Node) Shell(ctx context.Context, script string) string {
	n.t.Helper()
	return n.Must(ctx, "/bin/sh", "-euc", script)
}

// Is reports whether a condition of the shell is true now. It costs little, because it makes no
// unit of the node. Use it for questions that a test repeats.
func (n *Node) Is(ctx context.Context, condition string) bool {
	n.t.Helper()
	result, err := n.enter(ctx, "/bin/sh", "-c", condition)
	if err != nil {
		n.t.Fatalf("node %s: asking whether %s: %v", n.name, condition, err)
	}
	return result.Code == 0
}

// Await waits until a condition of the shell is true. It returns false if the condition is not true
// after five minutes, or longer on a busy machine: this limit only ends tests that hang. One shell
// of the node repeats the question, because other tests need the processor.
func (n *Node) Await(ctx context.Context, condition string) bool {
	n.t.Helper()
	return n.Is(ctx, "i=0; until ( "+condition+`
); do i=$((i + 1)); case $i in ?|1?) sleep 0.1;; 6??) exit 1;; *) sleep 0.5;; esac; done`)
}

// Start starts a command as the transient service unit of the given name, and does not wait for its
// end. The service ends with the node.
func (n *Node) Start(ctx context.Context, unit, command string, args ...string) {
	n.t.Helper()
	line, err := n.literal(append([]string{command}, args...))
	var result Result
	if err == nil {
		result, err = n.enter(ctx, append([]string{"systemd-run", "--quiet", "--collect", "--unit=" + unit, "--"}, line...)...)
	}
	if err == nil && result.Code != 0 {
		err = errors.New(result.Stderr)
	}
	if err != nil {
		n.t.Fatalf("node %s: starting %s: %v", n.name, unit, err)
	}
}

// Copy copies a file or a directory of this machine into the running (or prepared) node. A file
// gets the given mode. The files of a directory keep their modes.
func (n *Node) Copy(from, to string, mode fs.FileMode) {
	n.t.Helper()
	info, err := os.Stat(from)
	if err == nil {
		err = n.copy(from, to)
	}
	if err == nil && !info.IsDir() {
		err = os.Chmod(n.Path(to), mode)
	}
	if err != nil {
		n.t.Fatalf("node %s: copying %s to %s: %v", n.name, from, to, err)
	}
}

// Write writes a file of the running (or prepared) node, also on file systems that the node mounted
// itself (/run, /tmp).
func (n *Node) Write(path, content string, mode fs.FileMode) {
	n.t.Helper()
	if err := n.write(path, strings.NewReader(content), mode); err != nil {
		n.t.Fatalf("node %s: %v", n.name, err)
	}
}

// Read reads a file of the node as the node's processes see it, also below /proc and /run. If the
// file is absent, Read ends the test.
func (n *Node) Read(path string) string {
	n.t.Helper()
	content, err := os.ReadFile(n.Path(path))
	if err != nil {
		n.t.Fatalf("node %s: %v", n.name, err)
	}
	return string(content)
}

// run runs a command as a transient service.
func (n *Node) run(ctx context.Context, command ...string) (Result, error) {
	line, err := n.literal(command)
	if err != nil {
		return Result{}, err
	}
	return n.enter(ctx, append([]string{"systemd-run", "--wait", "--pipe", "--quiet", "--collect", "--"}, line...)...)
}

// literal is a command line that a transient service runs as it is. Where systemd 252 reads its
// units anew between the request and the start, it puts a backslash before each ";" and "$". So a
// command that has one is put into a file for the shell, beside the unit's own.
func (n *Node) literal(command []string) ([]string, error) {
	if !slices.ContainsFunc(command, func(arg string) bool { return strings.ContainsAny(arg, ";$") }) {
		return command, nil
	}
	script := "exec"
	for _, arg := range command {
		script += " '" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	path := fmt.Sprintf("/run/systemd/transient/command-%d", n.scripts.Add(1))
	return []string{"/bin/sh", path}, n.write(path, strings.NewReader(script+"\n"), 0o644)
}

// enter runs a command in the node's namespaces, but outside of its cgroups: for what only talks to
// the node's systemd.
func (n *Node) enter(ctx context.Context, command ...string) (Result, error) {
	if n.process == nil {
		return Result{}, errors.New("the node is off")
	}
	var out, errs bytes.Buffer
	code, err := n.pipe(ctx, nil, &out, &errs, command...)
	return Result{Stdout: out.String(), Stderr: errs.String(), Code: code}, err
}

func (n *Node) pipe(ctx context.Context, in io.Reader, out, errs io.Writer, command ...string) (int, error) {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--target=" + strconv.Itoa(n.process.leader), "--all", "--"}, command...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = time.Minute // what nsenter started may outlive it and keep the pipes open
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		if exit.ExitCode() >= 0 {
			return exit.ExitCode(), nil
		}
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("entering the node: %w", err)
	}
	return 0, nil
}
