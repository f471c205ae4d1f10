package history

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
)

// The machine-id stays in the ledger, since people put the output of `agent history -o json` into
// tickets. The line that keeps it: history.go, Read (withoutMachine).
func TestReadKeepsTheMachineID(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(root+"/etc", 0o755), os.WriteFile(root+"/etc/machine-id", []byte(id+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(ledger.NoteUndone(t.Context(), h.Files, ledger.Undone{Digest: "d"}),
		ledger.NoteBoot(t.Context(), h.Files, ledger.Boot{ID: "b"}),
		ledger.SaveApplied(t.Context(), h.Files, &ledger.Applied{Digest: "d"}), h.Close())
	if err != nil {
		t.Fatal(err)
	}
	past, err := Read(host.Options{Root: root})
	if err != nil || len(past.Undone) != 1 || len(past.Boots) != 1 || past.Applied == nil {
		t.Fatalf("Read returns %v, %+v", err, past)
	}
	if text, err := json.Marshal(past); err != nil || strings.Contains(string(text), id) {
		t.Errorf("the history has the machine-id: %v: %s", err, text)
	}
}
