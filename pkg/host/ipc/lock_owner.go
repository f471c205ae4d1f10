package ipc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// LockOwner is a process that has something for which others wait. Unknown fields are empty.
type LockOwner struct {
	PID     int
	Command string // its command line, shortened
	Since   time.Time
}

// String returns "pid 7 (netwright rollback 3), running since 2026-01-02T15:04:05Z".
func (h LockOwner) String() string {
	text := "pid " + strconv.Itoa(h.PID)
	if h.Command != "" {
		text += " (" + h.Command + ")"
	}
	if !h.Since.IsZero() {
		text += ", running since " + h.Since.UTC().Format(time.RFC3339)
	}
	return text
}

func ownerOf(pid int) LockOwner {
	h := LockOwner{PID: pid}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		h.Command = commandLine(line)
	}
	if stat, err := sys.StatOf(pid); err == nil {
		h.Since = time.Now().Add(stat.Began() - sys.Uptime()).Round(time.Second)
	}
	return h
}

// commandLine joins arguments to one line, without characters that would disturb a terminal.
func commandLine(args []byte) string {
	const most = 80
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, string(args))
	if line := []rune(strings.TrimSpace(text)); len(line) > most {
		return string(line[:most]) + " …"
	}
	return strings.TrimSpace(text)
}
