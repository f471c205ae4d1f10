package reconcile

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"testing"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// newer replaces the entry of /etc/ours by one that a newer agent wrote.
func newer(t *testing.T, root string, led *ledger.Ledger) {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	e := led.Entries()[graph.Key("file:/etc/ours")]
	task := *e.Task
	task.Version = 99
	e.Task = &task
	head := led.Head()
	head.Clean = false
	if err := led.Commit(t.Context(), h.Files, ledger.Batch{Put: []ledger.Entry{e}, Head: head}); err != nil {
		t.Fatal(err)
	}
}

// appendLines adds lines with right checksums to a journal.
func appendLines(path string, lines ...string) error {
	data, err := os.ReadFile(path)
	for _, line := range lines {
		data = fmt.Appendf(data, "%08x %s\n", crc32.Checksum([]byte(line), crc32.MakeTable(crc32.Castagnoli)), line)
	}
	return errors.Join(err, os.WriteFile(path, data, 0o600))
}

func tarOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func archiveOf(shelf *oneShelf) tasks.Archive {
	return tasks.Archive{Meta: tasks.Meta{From: "test"}, Name: "tools", URLs: []string{"assets/tools.tar"}, Sum: archive.ChecksumOf(shelf.body), Dir: "/opt/bin",
		Members: []string{"tool"}, Mode: 0o755, Fetch: shelf}
}
