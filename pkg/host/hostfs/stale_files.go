package hostfs

import (
	"crypto/rand"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// A staged file is named ".netwright-TOKEN-NUMBER". Nobody picks that up: libcni, modules-load.d,
// sysctl.d, systemd, udev and kubelet's manifests go by the extension, and it has none. (A leading
// dot alone does not help: libcni takes ".x.conf".)
const stagedPrefix = ".netwright-"

// processToken tells the staged files of this process from those of others.
var processToken = rand.Text()[:tokenLength]

const tokenLength, numberLength = 10, 8

var stagedCount atomic.Uint32

func stagedName() string {
	return fmt.Sprintf("%s%s-%0*x", stagedPrefix, processToken, numberLength, stagedCount.Add(1))
}

// stagedBy says which process staged a file of this name, if it is exactly such a name.
func stagedBy(name string) (token string, ok bool) {
	rest, ok := strings.CutPrefix(name, stagedPrefix)
	token, number, dash := strings.Cut(rest, "-")
	ok = ok && dash && len(token) == tokenLength && len(number) == numberLength &&
		strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" && strings.Trim(number, "0123456789abcdef") == ""
	return token, ok
}

// StagedHere says that this process may have staged a file of that name, and nobody else.
func StagedHere(name string) bool {
	token, ok := stagedBy(name)
	return ok && token == processToken
}

var processStart = time.Now()

// RemoveStale removes what a killed run left staged in directories: new content that never got
// to its place, or, where it was swapped in, the old. A pass calls it for all directories that it
// has files in, since a run that died after its last rename left nothing else to do there. A
// directory that is not there has none, and one that cannot be read is its tasks' to report.
func (w *Writer) RemoveStale(dirs []string) {
	for _, name := range dirs {
		fd, err := w.files.Paths.Strict().Open(path.Clean(name), unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			continue
		}
		w.files.cleaner.remove(fd, name, w.log)
		unix.Close(fd)
	}
}

// remove removes staged files that a killed run left in a directory that was just opened, the first
// time that this pass writes into it.
func (s *sweeper) remove(dir int, name string, log writeLog) {
	if _, seen := s.seen.LoadOrStore(name, true); seen {
		return
	}
	list, _ := namesIn(dir) // one that cannot be read is its tasks' to report
	for _, entry := range list {
		if leftover(dir, entry, time.Now()) && unix.Unlinkat(dir, entry, 0) == nil {
			log.wrote("removed what a killed run had staged", path.Join(name, entry))
		}
	}
}

// leftover says whether a file was staged by a process before this one. A file
// with our name that is younger belongs to another agent that still runs; one of the
// future, to a run before the clock was set back.
func leftover(dir int, entry string, now time.Time) bool {
	token, ok := stagedBy(entry)
	if !ok || token == processToken {
		return false
	}
	info, err := hostpath.LstatAt(dir, entry)
	return err == nil && info.Type != Directory && (info.Ctime < processStart.UnixNano() || info.Ctime > now.UnixNano())
}
