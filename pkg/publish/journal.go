package publish

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/report"
)

// journalSocket is the socket on which journald takes entries with fields:
// https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
const journalSocket = "/run/systemd/journal/socket"

// Identifier is the log's identifier in the journal: `journalctl -t netwright`.
const Identifier = "netwright"

// Journal sends the log's entries with their fields to journald, so that `journalctl
// NETWRIGHT_KEY=sysctl:net.ipv4.ip_forward` can select them. It never waits: entries that journald
// does not take at once are dropped and counted, and the next entry contains the count. Where
// journald cannot be reached, entries go to rest.
type Journal struct {
	zapcore.LevelEnabler
	rest   zapcore.Core    // for entries that journald cannot take
	text   zapcore.Encoder // encodes the entry's line
	fields []zapcore.Field
	socket *net.UnixConn
	to     *unix.SockaddrUnix
	lost   *atomic.Int64
}

// ToJournal reports whether a stream is connected to the journal. said is the value of
// JOURNAL_STREAM, which systemd sets for a service (systemd.exec(5)).
func ToJournal(stream *os.File, said string) bool {
	var st unix.Stat_t
	return unix.Fstat(int(stream.Fd()), &st) == nil && said == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// NewJournal returns a zap core for journald. text encodes an entry's MESSAGE, without time and
// level. rest writes the entries that journald cannot take.
func NewJournal(level zapcore.LevelEnabler, text zapcore.Encoder, rest zapcore.Core) (*Journal, error) {
	return newJournal(journalSocket, level, text, rest)
}

func newJournal(to string, level zapcore.LevelEnabler, text zapcore.Encoder, rest zapcore.Core) (*Journal, error) {
	// an unnamed socket, not connected, because journald may restart
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("open a socket to the journal: %w", err)
	}
	return &Journal{LevelEnabler: level, rest: rest, text: text, socket: socket, to: &unix.SockaddrUnix{Name: to},
		lost: new(atomic.Int64)}, nil
}

// With implements [zapcore.Core].
func (j *Journal) With(fields []zapcore.Field) zapcore.Core {
	with := *j
	with.fields, with.rest = slices.Concat(j.fields, fields), j.rest.With(fields)
	return &with
}

// Check implements [zapcore.Core].
func (j *Journal) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if j.Enabled(e.Level) {
		return c.AddCore(e, j)
	}
	return c
}

// Write implements [zapcore.Core]. Several goroutines may call it.
func (j *Journal) Write(e zapcore.Entry, fields []zapcore.Field) error {
	all := slices.Concat(j.fields, fields)
	line, err := j.text.EncodeEntry(e, all)
	if err != nil {
		return fmt.Errorf("encode a line of the log: %w", err)
	}
	defer line.Free()
	var b bytes.Buffer
	put(&b, "MESSAGE", report.Visible(strings.TrimRight(line.String(), "\n")))
	put(&b, "PRIORITY", strconv.Itoa(priority(e.Level)))
	put(&b, "SYSLOG_IDENTIFIER", Identifier)
	values := zapcore.NewMapObjectEncoder()
	for _, f := range all {
		f.AddTo(values)
	}
	for name, value := range values.Fields {
		put(&b, fieldName(name), fieldText(value))
	}
	before := j.lost.Swap(0)
	if before > 0 {
		put(&b, "NETWRIGHT_LOST", strconv.FormatInt(before, 10))
	}
	err = j.send(b.Bytes())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
		j.lost.Add(before + 1)
		return nil
	}
	j.lost.Add(before)
	return j.rest.Write(e, fields)
}

// Sync implements [zapcore.Core]. No entry is buffered.
func (j *Journal) Sync() error { return nil }

// send sends one entry to journald, without waiting. An entry that is too large for a datagram is
// sent as a memory file.
func (j *Journal) send(entry []byte) error {
	err := j.sendmsg(entry, nil)
	if !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	fd, err := unix.MemfdCreate("netwright-journal", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "memfd")
	defer file.Close() // a memory file: no error matters
	if _, err := file.Write(entry); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS,
		unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL); err != nil {
		return err
	}
	return j.sendmsg(nil, unix.UnixRights(int(file.Fd())))
}

func (j *Journal) sendmsg(entry, rights []byte) error {
	raw, err := j.socket.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) {
		for {
			if sent = unix.Sendmsg(int(fd), entry, rights, j.to, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); !errors.Is(sent,
				syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, sent)
}

// put writes a field. A value with several lines has its length before it.
func put(b *bytes.Buffer, name, value string) {
	b.WriteString(name)
	if !strings.Contains(value, "\n") {
		b.WriteString("=" + value + "\n")
		return
	}
	b.WriteByte('\n')
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(value))))
	b.WriteString(value + "\n")
}

// fieldName returns the journal's name of a log field: in upper case, with the prefix NETWRIGHT_.
func fieldName(name string) string {
	upper := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
	return "NETWRIGHT_" + upper[:min(len(upper), 50)]
}

// fieldText returns a value as text: a string unchanged, a duration in seconds, other values as
// JSON.
func fieldText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case time.Duration:
		return strconv.FormatFloat(v.Seconds(), 'f', -1, 64)
	case fmt.Stringer:
		return v.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// priority returns the syslog(3) priority of a level.
func priority(level zapcore.Level) int {
	switch {
	case level <= zapcore.DebugLevel:
		return 7
	case level == zapcore.InfoLevel:
		return 6
	case level == zapcore.WarnLevel:
		return 4
	}
	return 3
}
