package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// status --watch and wait read the file at each look, and resume --apply reads it twice. From the
// second time on, a wrong file counted as none, and the error said that no store is named. The line
// that keeps it: settings.go, Read.
func TestAWrongFileIsWrongEachTime(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc/netwright"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/netwright/agent.yaml"), []byte("stroe: /srv\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Settings{Host: host.Options{Root: root}}
	first := s.Read()
	if again := s.Read(); first == nil || again == nil || again.Error() != first.Error() {
		t.Errorf("first %v, then %v", first, again)
	}
}
