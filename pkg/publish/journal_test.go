package publish

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// journald is the other end of the journal's socket, with its own queue.
type journald struct {
	t      *testing.T
	socket *net.UnixConn
	path   string
	rest   bytes.Buffer
}

func newJournald(t *testing.T) (*journald, *zap.Logger) {
	t.Helper()
	d := &journald{t: t, path: filepath.Join(socketDir(t), "journal")}
	d.listen()
	encoder := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "msg", EncodeDuration: zapcore.StringDurationEncoder})
	rest := zapcore.NewCore(encoder, zapcore.AddSync(&d.rest), zapcore.DebugLevel)
	core, err := newJournal(d.path, zapcore.InfoLevel, encoder, rest)
	if err != nil {
		t.Fatal(err)
	}
	return d, zap.New(core)
}

func (d *journald) listen() {
	err := os.RemoveAll(d.path) // a rest of the one before
	if err != nil {
		d.t.Fatal(err)
	}
	if d.socket, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: d.path, Net: "unixgram"}); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = d.socket.Close() })
}

// takes reads one entry, from the datagram or from the memory file that came with it.
func (d *journald) takes() map[string]string {
	d.t.Helper()
	if err := d.socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		d.t.Fatal(err)
	}
	data, control := make([]byte, 1<<20), make([]byte, 256)
	n, c, _, _, err := d.socket.ReadMsgUnix(data, control)
	if err != nil {
		d.t.Fatal(err)
	}
	data = data[:n]
	if c > 0 {
		data = d.memory(control[:c])
	}
	fields := map[string]string{}
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		name, value, ok := strings.Cut(string(line), "=")
		if data = rest; !ok {
			size := binary.LittleEndian.Uint64(data)
			value, data = string(data[8:8+size]), data[8+size+1:]
		}
		fields[name] = value
	}
	return fields
}

func (d *journald) memory(control []byte) []byte {
	d.t.Helper()
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		d.t.Fatalf("%d messages: %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		d.t.Fatalf("%d descriptors: %v", len(fds), err)
	}
	defer unix.Close(fds[0])
	if seals, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GET_SEALS, 0); err != nil || seals&unix.F_SEAL_WRITE == 0 { // journald takes no other
		d.t.Errorf("not sealed: %x, %v", seals, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fds[0], &st); err != nil {
		d.t.Fatal(err)
	}
	data := make([]byte, st.Size)
	if _, err := unix.Pread(fds[0], data, 0); err != nil {
		d.t.Fatal(err)
	}
	return data
}

func TestJournalHasFields(t *testing.T) {
	d, log := newJournald(t)
	log = log.With(zap.Int64("generation", 7))
	log.Debug("not asked for")
	log.Info("changed", zap.String("key", "sysctl:net.ipv4.ip_forward"), zap.Duration("took", 3*time.Millisecond), zap.Bool("going on", true))
	got := d.takes()
	for name, want := range map[string]string{
		"MESSAGE":  `changed	{"generation": 7, "key": "sysctl:net.ipv4.ip_forward", "took": "3ms", "going on": true}`,
		"PRIORITY": "6", "SYSLOG_IDENTIFIER": "netwright", "NETWRIGHT_KEY": "sysctl:net.ipv4.ip_forward", "NETWRIGHT_GENERATION": "7", "NETWRIGHT_TOOK": "0.003", "NETWRIGHT_GOING_ON": "true",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	log.Error("failed", zap.Error(errors.New("two\nNETWRIGHT_KEY=lines"))) // a text must not become a field of its own
	if got := d.takes(); got["PRIORITY"] != "3" || got["NETWRIGHT_ERROR"] != "two\nNETWRIGHT_KEY=lines" || got["NETWRIGHT_KEY"] != "" {
		t.Errorf("got %q", got)
	}
}

func TestJournalTakesLargeEntries(t *testing.T) {
	d, log := newJournald(t)
	large := strings.Repeat("0123456789", 100_000) // more than a datagram may have (net.core.wmem_default)
	log.Warn("large", zap.String("text", large))
	if got := d.takes(); got["NETWRIGHT_TEXT"] != large || got["PRIORITY"] != "4" {
		t.Errorf("%d bytes came, want %d", len(got["NETWRIGHT_TEXT"]), len(large))
	}
}

// If journald reads nothing, no caller waits. What was lost is reported when journald reads again.
func TestJournalNeverWaits(t *testing.T) {
	d, log := newJournald(t)
	for range 100_000 { // either it blocks, or the queue is full long before
		log.Info("full")
	}
	took := 0
	for ; d.takes()["NETWRIGHT_LOST"] == ""; took++ {
		log.Info("room again")
	}
	if took == 0 || d.rest.Len() > 0 {
		t.Errorf("%d taken; written elsewhere: %.200s", took, d.rest.String())
	}
}

func TestJournalIsGone(t *testing.T) {
	d, log := newJournald(t)
	if err := d.socket.Close(); err != nil { // its file stays, without a reader
		t.Fatal(err)
	}
	log.With(zap.String("key", "file:/a")).Info("changed")
	if got := d.rest.String(); got != "changed\t{\"key\": \"file:/a\"}\n" {
		t.Errorf("written elsewhere: %q", got)
	}
	d.listen()
	log.Info("back")
	if got := d.takes(); got["MESSAGE"] != "back" {
		t.Errorf("got %q", got)
	}
}
