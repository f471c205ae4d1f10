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
	"time"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// Limits of one look for who else writes.
const (
	writersLimit  = time.Second // a node with thousands of processes is not held up for it
	maxScript     = 64 << 10
	maxScriptArgs = 4
)

// Writers looks for who else may write each of some things, in one look at all processes: a process
// that has the file open, and one whose command line or script names it. A thing is the path of a
// file, the key of a sysctl, or words that all stand in the command ("10.1.0.0/24 dev x"). What is
// said begins with "probably" where it is only named there: nothing of what /proc tells proves who
// wrote last (fanotify would, and needs CAP_SYS_ADMIN). Nothing is said of who was not found. It
// only reads, for a second at most.
func (l *Live) Writers(ctx context.Context, things []string) map[string]Writer {
	found := map[string]Writer{}
	if !l.opt.live() || len(things) == 0 {
		return found
	}
	ctx, cancel := context.WithTimeoutCause(ctx, writersLimit, errors.New("the look for who else writes took too long"))
	defer cancel()
	list, _ := filepath.Glob("/proc/[0-9]*") // a /proc that cannot be read names nobody
	open := map[string]bool{}                // it is known who has the file open, which says more than a command
	for _, dir := range list {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || len(open) == len(things) || ctx.Err() != nil {
			continue
		}
		for _, thing := range things {
			switch {
			case open[thing]:
			case strings.HasPrefix(thing, "/") && hasOpen(dir, thing):
				found[thing], open[thing] = Writer{l.processText(ctx, dir, pid) + " has it open", writerAt(dir, pid)},
					true
			case found[thing].Text == "" && commandNames(dir, thing):
				found[thing] = Writer{"probably " + l.processText(ctx, dir, pid) + ", whose command names it,",
					writerAt(dir, pid)}
			}
		}
	}
	return found
}

// Writer is who may write a thing.
type Writer struct {
	Text string // in words
	WriterID
}

// WriterID is a process that writes, or did.
type WriterID struct {
	Process
	// Service is the control group of its service or container, in which another process may go on
	// with its work; "" of what a person started.
	Service string `json:"service,omitempty"`
}

// writerAt is the process of a directory of /proc.
func writerAt(dir string, pid int) WriterID {
	stat, _ := sys.StatOf(pid) // of one that is gone: none
	p := WriterID{Process: Process{PID: pid, Started: stat.Started}}
	for _, group := range groupsOf(dir) {
		if containerOf().MatchString(group) || strings.Contains(group, ".service") {
			p.Service = group
		}
	}
	return p
}

// groupsOf are the control groups of the process of a directory of /proc.
func groupsOf(dir string) (groups []string) {
	list, _ := sys.ReadKernelFile(dir + "/cgroup")
	for line := range strings.Lines(string(list)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			groups = append(groups, parts[2])
		}
	}
	return groups
}

// controlGroups is where control groups are: of version 2, of 1, and of both at a time.
var controlGroups = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}

// Runs says that the process runs, or another one of its service. It costs a few small reads.
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

// readers are programs that only look at what their command names: whoever searches for a key is
// not who writes it. So is sysctl without a value.
var readers = []string{
	"bat", "cat", "cmp", "diff", "egrep", "fgrep", "file", "getfattr", "grep", "head", "inotifywait", "journalctl",
	"less", "ls", "lsof", "md5sum", "more",
	"nl", "od", "pgrep", "pager", "readlink", "rg", "sha256sum", "stat", "strings", "tail", "view", "wc", "xxd",
	"zgrep",
}

// reads says that a command is one that only looks.
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

// hasOpen says that a process has a file open for writing.
func hasOpen(proc, path string) bool {
	fds, _ := filepath.Glob(proc + "/fd/*")
	for _, fd := range fds {
		at, err := os.Readlink(fd)
		switch {
		case errors.Is(err, fs.ErrPermission): // the process may do more than we may: none is shown
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

// commandNames says that the command of a process has a thing in it, or a script that it runs.
func commandNames(proc, thing string) bool {
	text, err := sys.ReadKernelFile(proc + "/cmdline")
	if err != nil || len(text) == 0 {
		return false // a thread of the kernel, or it ended
	}
	args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	if reads(args) {
		return false
	}
	if mentions(strings.ReplaceAll(string(text), "\x00", " "), thing) {
		return true
	}
	for _, arg := range args[:min(len(args), maxScriptArgs)] {
		if !filepath.IsAbs(arg) {
			continue
		}
		script := proc + "/root" + arg // as the process sees it
		info, err := os.Stat(script)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
			continue
		}
		if text, err := os.ReadFile(script); err == nil && !strings.HasPrefix(string(text), "\x7fELF") &&
			mentions(string(text), thing) {
			return true
		}
	}
	return false
}

// mentions says that all words of a thing stand in a text; of a sysctl, either form of its key.
func mentions(text, thing string) bool {
	if strings.Contains(text, thing) ||
		!strings.HasPrefix(thing, "/") && strings.Contains(text, strings.ReplaceAll(thing, ".", "/")) {
		return true
	}
	words := strings.Fields(thing)
	return len(words) > 1 &&
		!slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// containerOf finds the id of a container in a control group: cri-containerd-ID.scope,
// crio-ID.scope, docker-ID.scope, …/ID.
var containerOf = lazyregexp.New(`([0-9a-f]{64})(\.scope)?$`)

// processText names a process by its pod and image, or by its unit, and by its program.
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

// containerNamed is the pod and the image of a container, if the runtime knows them.
func (l *Live) containerNamed(ctx context.Context, id string) string {
	if known := cri.DescribeContainer(ctx, l.runtimeSocket(), writersLimit, id); known != "" {
		return known
	}
	return "container " + id[:12]
}
