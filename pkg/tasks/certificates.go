package tasks

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// CertificateSet is the files of one client identity: they appear together
// or not at all, and only if the key fits the certificate and the certificate
// the CA. A plan shows whose the certificates are and how long they last, and nothing of the key.
type CertificateSet struct {
	Meta
	Dir             string
	CA, Cert, Key   CertFile
	Owner           string
	CommonName      string // expected in the certificate; "" is any
	AllowExpired    bool
	RetainOnRelease bool // stays when the configuration no longer names it
}

// CertFile is one PEM file of a set.
type CertFile struct {
	Name string // base name in the set's directory
	PEM  []byte
	Mode fs.FileMode
}

var _ Task = CertificateSet{}

// Owns implements [Task].
func (t CertificateSet) Owns() []graph.Key {
	return fileKeys(t.Dir, t.CA.Name, t.Cert.Name, t.Key.Name)
}

// Plan implements [Task]. A set that does not fit together, or is expired, is an error that says which file and what to do; one
// that is not valid yet waits for the clock.
func (t CertificateSet) Plan(_ context.Context, v host.View) (*Change, error) {
	if _, err := t.check(time.Now()); err != nil {
		return nil, fmt.Errorf("plan certificates in %s: %w", t.Dir, err)
	}
	var items []Item
	var facts []host.Fact
	reason := ""
	for _, f := range t.files() {
		item, want, err := f.look(v)
		if err != nil {
			return nil, fmt.Errorf("plan certificates in %s: %w", t.Dir, err)
		}
		if item == nil {
			continue
		}
		if item.Op == Create {
			reason = "absent"
		} else if reason == "" {
			reason = differs(item.Fields)
		}
		if err := t.describe(v, f, item); err != nil {
			return nil, fmt.Errorf("plan certificates in %s: %w", t.Dir, err)
		}
		items = append(items, *item)
		facts = append(facts, fileFact(f.Path, want.info(host.Regular, int64(len(f.Content)))))
	}
	if len(items) == 0 {
		return nil, nil
	}
	parents, err := missingParents(v, path.Join(t.Dir, t.CA.Name))
	if err != nil {
		return nil, fmt.Errorf("plan certificates in %s: %w", t.Dir, err)
	}
	return t.change(append(parents, items...), reason, facts...), nil
}

// Apply implements [Task]. What differs is replaced as one batch.
func (t CertificateSet) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	if _, err := t.check(time.Now()); err != nil {
		return fmt.Errorf("install certificates in %s: %w", t.Dir, err)
	}
	b := h.Batch()
	defer b.Discard()
	b.Together()
	for _, f := range t.files() {
		item, want, err := f.look(h)
		if err == nil && item != nil {
			err = b.Put(f.Path, f.Content, want.spec()) // an owner or a mode too: it belongs to the set as the content does
		}
		if err != nil {
			return fmt.Errorf("install certificates in %s: %w", t.Dir, err)
		}
	}
	if err := b.Commit(ctx); err != nil {
		return fmt.Errorf("install certificates in %s: %w", t.Dir, err)
	}
	return nil
}

// ExpiringSoon says which certificate of the set ends within the time given, for a warning: "" is none.
func (t CertificateSet) ExpiringSoon(now time.Time, within time.Duration) string {
	ends, err := t.check(now)
	if err != nil || ends.NotAfter.Sub(now) > within {
		return ""
	}
	return fmt.Sprintf("the certificate %s in %s ends on %s, in %d days: issue a new one and publish it",
		subject(ends), t.Dir, ends.NotAfter.UTC().Format(time.DateOnly), int(ends.NotAfter.Sub(now).Hours()/24))
}

// files are the set as files. Their contents are not shown: of a certificate, its description says more.
func (t CertificateSet) files() []File {
	var all []File
	for _, f := range []CertFile{t.CA, t.Cert, t.Key} {
		m := t.Meta
		m.Secret = true
		all = append(all, File{Meta: m, Path: path.Join(t.Dir, f.Name), Content: f.PEM, Mode: f.Mode, Owner: t.Owner})
	}
	return all
}

// describe says in an item which certificate goes and which comes.
func (t CertificateSet) describe(v host.View, f File, item *Item) error {
	if f.Path == path.Join(t.Dir, t.Key.Name) {
		return nil
	}
	after := Field{Name: "certificate", After: describePEM(f.Content)}
	i := slices.IndexFunc(item.Fields, func(f Field) bool { return f.Name == "content" })
	switch {
	case item.Op == Create || item.Fields[0].Name == "type":
		item.Fields = append([]Field{after}, item.Fields...)
	case i >= 0:
		old, err := v.ReadFile(f.Path)
		if err != nil {
			return err
		}
		after.Before = describePEM(old)
		item.Fields[i] = after
	}
	return nil
}
