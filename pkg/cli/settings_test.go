package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
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

// An error about a wrong name says what gave the name. The line that keeps it: settings.go,
// selected.
func TestASelectionSaysWhatGaveItsNames(t *testing.T) {
	hostname, err := Hostname()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent.yaml")
	for _, c := range []struct {
		file string
		flag agentfile.AgentFile
		want config.Select
	}{
		{"node: a\nnodeGroup: g\n", agentfile.AgentFile{}, config.Select{Node: "a", NodeFrom: path + ":1:1", Group: "g", GroupFrom: path + ":2:1"}},
		{"node: a\nnodeGroup: g\n", agentfile.AgentFile{Node: "b", NodeGroup: "h"}, config.Select{Node: "b", NodeFrom: "--node", Group: "h", GroupFrom: "--node-group"}},
		{"", agentfile.AgentFile{}, config.Select{Node: hostname, NodeFrom: "the host's name"}},
	} {
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Settings{Conf: path, AgentFile: c.flag}
		if err := errors.Join(s.Read(), s.nameNode()); err != nil {
			t.Fatal(err)
		}
		if got := selected(&s); got != c.want {
			t.Errorf("%q and %+v: %+v, want %+v", c.file, c.flag, got, c.want)
		}
	}
}
