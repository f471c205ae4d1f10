package blob_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
)

// Nobody writes to the pipe. The line that keeps it: pkg/blob/file.go, Open (O_NONBLOCK).
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		pipe: "expected a regular file, found a pipe", dir: "found a directory", "/dev/null": "found a device", dir + "/none": "no such file",
	} {
		if data, err := blob.ReadFile(name); data != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", name, data, err, want)
		}
	}
	if data, err := blob.ReadFile(file); string(data) != "text" || err != nil {
		t.Errorf("ReadFile: %q, %v; want \"text\"", data, err)
	}
}
