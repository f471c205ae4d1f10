package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// receiptDir has a receipt for each archive that was installed, named by the archive's checksum.
const receiptDir = "/var/lib/netwright/assets"

// receipt has the members of an archive, as far as they were unpacked. It is a fact about the
// archive and not about the host: it stays true if the installed members change.
type receipt struct {
	Name    string                   `json:"name"`
	Members map[string]hostfs.Member `json:"members"`
}

func (t Archive) receiptPath() string { return fmt.Sprintf("%s/%s.json", receiptDir, t.Sum) }

// readReceipt returns the members that the receipt has. It returns none for a missing or damaged
// receipt: the archive is then fetched again.
func (t Archive) readReceipt(v host.View) (map[string]hostfs.Member, error) {
	text, err := v.Files.ReadFile(t.receiptPath())
	if errors.Is(err, host.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read its receipt: %w", err)
	}
	var r receipt
	if json.Unmarshal(text, &r) != nil {
		return nil, nil
	}
	return r.Members, nil
}

// writeReceipt stages the receipt. It keeps the members of an earlier receipt.
func (t Archive) writeReceipt(v host.View, b *hostfs.Batch, got map[string]hostfs.Member) error {
	known, err := t.readReceipt(v)
	if err != nil {
		return err
	}
	r := receipt{Name: t.Name, Members: map[string]hostfs.Member{}}
	maps.Copy(r.Members, known)
	maps.Copy(r.Members, got)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write its receipt: %w", err)
	}
	return b.Put(t.receiptPath(), append(text, '\n'), hostfs.FileSpec{Mode: 0o644})
}
