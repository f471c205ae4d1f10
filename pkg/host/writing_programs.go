package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// Limits of one search for the processes that may write a file or a sysctl.
const (
	writersLimit  = time.Second // enough for thousands of processes
	maxScript     = 64 << 10
	maxScriptArgs = 4
)

// Writers looks for the processes that may write each of the given things. It looks at all
// processes once: whether a process has the file open for writing, and whether its command line or
// script names the thing. A thing is the path of a file, the key of a sysctl, or several words that
// must all stand in the command ("10.1.0.0/24 dev x"). The text begins with "probably" where only
// the command names the thing: /proc does not prove who wrote last (fanotify would, but it needs
// CAP_SYS_ADMIN). A thing without such a process is missing from the result. Writers only reads,
// and returns after a second at the latest: to read a process, or a file that it names, may take
// for ever, as on a file system without its server. While another search goes on, it finds nothing.
func (l *Live) Writers(ctx context.Context, things []string) map[string]Writer {
	found := map[string]Writer{}
	if !l.opt.live() || len(things) == 0 || !searching.TryLock() {
		return found
	}
	ctx, cancel := context.WithTimeoutCause(ctx, writersLimit, errors.New("the search for other writers took "+
		"too long"))
	seen := make(chan seenWriter)
	go func() {
		defer searching.Unlock()
		defer cancel()
		l.searchWriters(ctx, things, seen)
	}()
	for {
		select {
		case s := <-seen:
			found[s.thing] = s.Writer
		case <-ctx.Done():
			return found
		}
	}
}

// searching is locked while a search goes on. No second search begins while one hangs.
var searching sync.Mutex

// seenWriter is a process that may write a thing.
type seenWriter struct {
	thing string
	Writer
}

// searchWriters sends what it finds. What it sends later of a thing is stronger evidence.
func (l *Live) searchWriters(ctx context.Context, things []string, seen chan<- seenWriter) {
	list, _ := filepath.Glob("/proc/[0-9]*") // no process is found if /proc cannot be read
	named, open := map[string]bool{}, map[string]bool{}
	for _, dir := range list {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || len(open) == len(things) || ctx.Err() != nil {
			continue
		}
		for _, thing := range things {
			s := seenWriter{thing: thing}
			switch {
			case open[thing]:
				continue
			case strings.HasPrefix(thing, "/") && hasOpen(dir, thing):
				open[thing], s.Text = true, l.processText(ctx, dir, pid)+", which has it open"
			case !named[thing] && commandNames(dir, thing):
				named[thing], s.Text = true, "probably "+l.processText(ctx, dir, pid)+", whose command names it"
			default:
				continue
			}
			s.WriterID = writerAt(dir, pid)
			select {
			case seen <- s:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Writer is a process that may write a thing.
type Writer struct {
	Text string // describes the process for users
	WriterID
}

// WriterID identifies a process that writes or wrote.
type WriterID struct {
	Process
	// Service is the control group of the process' service or container. Another process of this
	// group may continue the work. It is "" for a process that a person started.
	Service string `json:"service,omitempty"`
}

// writerAt returns the process of a directory of /proc.
func writerAt(dir string, pid int) WriterID {
	stat, _ := sys.StatOf(pid) // zero if the process is gone
	p := WriterID{Process: Process{PID: pid, Started: stat.Started}}
	for _, group := range groupsOf(dir) {
		if containerOf().MatchString(group) || strings.Contains(group, ".service") {
			p.Service = group
		}
	}
	return p
}

// groupsOf returns the control groups of the process of a directory of /proc.
func groupsOf(dir string) (groups []string) {
	list, _ := sys.ReadKernelFile(dir + "/cgroup")
	for line := range strings.Lines(string(list)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			groups = append(groups, parts[2])
		}
	}
	return groups
}

// controlGroups are the mount points of control groups: of version 2, of version 1, and of version
// 2 where both are used.
var controlGroups = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}

// Runs reports whether the process or another process of its service runs. It makes a few small
// reads.
func (p WriterID) Runs() bool { return p.runs(controlGroups) }

func (p WriterID) runs(groups []string) bool {
	if stat, err := sys.StatOf(p.PID); err == nil && stat.Started == p.Started {
		return true
	}
	return p.Service != "" && slices.ContainsFunc(groups, func(dir string) bool {
		list, err := sys.ReadKernelFile(dir + p.Service + "/cgroup.procs")
		return err == nil && len(list) > 0
	})
}

// readers are programs that only read what their command names. A program that searches for a key
// does not write it. sysctl without a value also only reads.
var readers = []string{
	"bat", "cat", "cmp", "diff", "egrep", "fgrep", "file", "getfattr", "grep", "head", "inotifywait", "journalctl",
	"less", "ls", "lsof", "md5sum", "more",
	"nl", "od", "pgrep", "pager", "readlink", "rg", "sha256sum", "stat", "strings", "tail", "view", "wc", "xxd",
	"zgrep",
}

// reads reports whether a command only reads.
func reads(args []string) bool {
	name := filepath.Base(args[0])
	if name == "sysctl" {
		return !slices.ContainsFunc(args[1:], func(arg string) bool {
			return strings.Contains(arg, "=") || strings.HasPrefix(arg, "--") ||
				strings.HasPrefix(arg, "-") && strings.ContainsAny(arg, "wpf")
		})
	}
	return slices.Contains(readers, name)
}

// hasOpen reports whether a process has a file open for writing.
func hasOpen(proc, path string) bool {
	fds, _ := filepath.Glob(proc + "/fd/*")
	for _, fd := range fds {
		at, err := os.Readlink(fd)
		switch {
		case errors.Is(err, fs.ErrPermission): // hidden: the process has more privileges
			return false
		case err != nil || at != path:
			continue
		}
		info, err := sys.ReadKernelFile(proc + "/fdinfo/" + filepath.Base(fd))
		if m := openFlags().FindSubmatch(info); err == nil && m != nil {
			flags, err := strconv.ParseUint(string(m[1]), 8, 64)
			return err == nil && flags&(uint64(os.O_WRONLY)|uint64(os.O_RDWR)) != 0
		}
	}
	return false
}

var openFlags = lazyregexp.New(`(?m)^flags:\s*(\d+)`)

// commandNames reports whether the command of a process, or a script that it runs, names a thing.
func commandNames(proc, thing string) bool {
	text, err := sys.ReadKernelFile(proc + "/cmdline")
	if err != nil || len(text) == 0 {
		return false // a kernel thread, or the process has ended
	}
	args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	if reads(args) {
		return false
	}
	if mentions(strings.ReplaceAll(string(text), "\x00", " "), thing) {
		return true
	}
	root, err := hostpath.Open(proc + "/root") // as the process sees it
	if errors.Is(err, fs.ErrPermission) && !slices.ContainsFunc(groupsOf(proc), containerOf().MatchString) {
		root, err = hostpath.Open("/") // the process has more privileges than this one
	}
	if err != nil {
		return false
	}
	defer root.Close()
	return slices.ContainsFunc(args[:min(len(args), maxScriptArgs)], func(arg string) bool {
		return mentions(scriptAt(root, arg), thing)
	})
}

// scriptAt returns the script at an absolute path; "" if none is there. It opens no pipe and no
// device, also where another program replaces the file meanwhile.
func scriptAt(root hostpath.Root, name string) string {
	name, err := hostpath.Clean("open", name)
	if err != nil {
		return ""
	}
	fd, err := root.Open(name, unix.O_PATH)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	if info, err := hostpath.Fstat(fd); err != nil || info.Type != hostpath.Regular || info.Size > maxScript {
		return ""
	}
	file, err := hostpath.OpenAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(file)
	text := make([]byte, maxScript)
	n, err := unix.Read(file, text)
	if err != nil || strings.HasPrefix(string(text[:n]), "\x7fELF") {
		return ""
	}
	return string(text[:n])
}

// mentions reports whether a text has all words of a thing. The key of a sysctl may have dots or
// slashes in the text.
func mentions(text, thing string) bool {
	if strings.Contains(text, thing) ||
		!strings.HasPrefix(thing, "/") && strings.Contains(text, strings.ReplaceAll(thing, ".", "/")) {
		return true
	}
	words := strings.Fields(thing)
	return len(words) > 1 &&
		!slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// containerOf matches the id of a container in a control group: cri-containerd-ID.scope,
// crio-ID.scope, docker-ID.scope, …/ID.
var containerOf = lazyregexp.New(`([0-9a-f]{64})(\.scope)?$`)

// processText describes a process: its pod and image or its unit, then its program.
func (l *Live) processText(ctx context.Context, proc string, pid int) string {
	comm, _ := sys.ReadKernelFile(proc + "/comm")
	program := fmt.Sprintf("%s, process %d", strings.TrimSpace(string(comm)), pid)
	unit := ""
	for _, group := range groupsOf(proc) {
		if id := containerOf().FindStringSubmatch(group); id != nil {
			return l.containerNamed(ctx, id[1]) + " (" + program + ")"
		}
		for part := range strings.SplitSeq(group, "/") {
			if strings.HasSuffix(part, ".service") || strings.HasSuffix(part, ".scope") {
				unit = part
			}
		}
	}
	if unit == "" {
		return program
	}
	return "unit " + unit + " (" + program + ")"
}

// containerNamed describes a container by its pod and image, or by its id if the runtime does not
// know it.
func (l *Live) containerNamed(ctx context.Context, id string) string {
	if known := cri.DescribeContainer(ctx, l.runtimeSocket(), writersLimit, id); known != "" {
		return known
	}
	return "container " + id[:12]
}
