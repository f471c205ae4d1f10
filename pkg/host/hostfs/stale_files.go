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

// A staged file is named ".netwright-TOKEN-NUMBER". No other program reads such a file: libcni,
// modules-load.d, sysctl.d, systemd, udev and kubelet's manifests go by the extension, and the name
// has none. (A leading dot is not enough: libcni reads ".x.conf".)
const stagedPrefix = ".netwright-"

// processToken distinguishes the staged files of this process from those of other processes.
var processToken = rand.Text()[:tokenLength]

const tokenLength, numberLength = 10, 8

var stagedCount atomic.Uint32

func stagedName() string {
	return fmt.Sprintf("%s%s-%0*x", stagedPrefix, processToken, numberLength, stagedCount.Add(1))
}

// stagedBy returns the token of the process that staged a file, if the name is that of a staged
// file.
func stagedBy(name string) (token string, ok bool) {
	rest, ok := strings.CutPrefix(name, stagedPrefix)
	token, number, dash := strings.Cut(rest, "-")
	ok = ok && dash && len(token) == tokenLength && len(number) == numberLength &&
		strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" && strings.Trim(number, "0123456789abcdef") == ""
	return token, ok
}

// StagedHere reports whether name is that of a file staged by this process.
func StagedHere(name string) bool {
	token, ok := stagedBy(name)
	return ok && token == processToken
}

var processStart = time.Now()

// RemoveStale removes the staged files that a killed run left in directories: new content that was
// not put in place, or the old file after an exchange. A pass calls it for all directories in which
// it has files, because a run that died after its last rename left no other trace there. Missing
// and unreadable directories are skipped: their tasks report the error.
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

// remove removes the staged files that a killed run left in an open directory. It does this only
// once for each directory in a pass.
func (s *sweeper) remove(dir int, name string, log writeLog) {
	if _, seen := s.seen.LoadOrStore(name, true); seen {
		return
	}
	list, _ := namesIn(dir, stagedPrefix) // one that cannot be read is its tasks' to report
	for _, entry := range list {
		if leftover(dir, entry, time.Now()) && unix.Unlinkat(dir, entry, 0) == nil {
			log.wrote("removed what a killed run had staged", path.Join(name, entry))
		}
	}
}

// leftover reports whether an earlier process staged a file. A younger staged file belongs to
// another agent that still runs. One with a time in the future is from before the clock was set
// back.
func leftover(dir int, entry string, now time.Time) bool {
	token, ok := stagedBy(entry)
	if !ok || token == processToken {
		return false
	}
	info, err := hostpath.LstatAt(dir, entry)
	return err == nil && info.Type != Directory && (info.Ctime < processStart.UnixNano() || info.Ctime > now.UnixNano())
}
