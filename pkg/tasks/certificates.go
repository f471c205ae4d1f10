package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/secret"
)

// KindCertificates is the kind of a [CertificateSet] in the ledger.
const KindCertificates = "certificates"

// CertificateSet is the files of one client identity. They are installed together or not at all,
// and only if the key belongs to the certificate and the CA signed it. A plan shows the subject of
// the certificates and how long they are valid, and nothing of the key.
//
// A set that is on the node as wanted is right, even if it has expired: to remove it would not
// help.
type CertificateSet struct {
	Meta
	Dir             string // directory of the three files; "" where only Kubeconfig is wanted
	CA, Cert, Key   CertFile
	Kubeconfig      *Kubeconfig `json:",omitempty"` // one more file, which contains all three
	Owner           string
	CommonName      string // expected in the certificate; "": any
	RetainOnRelease bool   // the set stays when the configuration no longer names it

	Name    string `json:",omitempty"` // of the certificate in the documents
	Source  string `json:",omitempty"` // as the documents name it; "": the store
	OtherCA bool   `json:",omitempty"` // the CA is the one of the servers, and need not be the issuer
	Server  bool   `json:",omitempty"` // it is a server certificate; otherwise it must be valid for a client
	// Issue says that there is no certificate yet, or that it must be renewed, and who would issue
	// it. Only the plan of a dry run has it, which asks no issuer.
	Issue string `json:"-"`
	// Failure is why the certificate cannot be obtained.
	Failure error `json:"-"`
}

// CertFile is one PEM file of a set.
type CertFile struct {
	Name string // base name in the set's directory
	PEM  secret.Bytes
	Mode fs.FileMode
}

var _ Task = CertificateSet{}

// Owns implements [Task].
func (t CertificateSet) Owns() []graph.Key {
	var keys []graph.Key
	if t.Dir != "" {
		keys = fileKeys(t.Dir, t.CA.Name, t.Cert.Name, t.Key.Name)
	}
	if t.Kubeconfig != nil {
		keys = append(keys, FileKey(t.Kubeconfig.Path))
	}
	return keys
}

// Plan implements [Task]. For a set whose parts do not belong together, or that has expired, it
// returns an error that names the file and what to do. For one that is not valid yet it waits.
func (t CertificateSet) Plan(_ context.Context, v host.View) (*Change, error) {
	if t.Failure != nil {
		return nil, t.Failure
	}
	plan := t.plan
	if t.Issue != "" {
		plan = t.planIssue
	}
	change, err := plan(v)
	if err != nil {
		return nil, fmt.Errorf("plan certificates in %s: %w", t.location(), err)
	}
	return change, nil
}

// plan is Plan for certificates that are there to be installed.
func (t CertificateSet) plan(v host.View) (*Change, error) {
	if err := t.usable(v); err != nil {
		return nil, err
	}
	var items []Item
	var facts []host.Fact
	reason := ""
	for _, f := range t.files() {
		item, want, err := f.look(v)
		if err != nil {
			return nil, err
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
			return nil, err
		}
		items = append(items, *item)
		facts = append(facts, fileFact(f.Path, want.info(hostfs.Regular, int64(len(f.Content)))))
	}
	if len(items) == 0 {
		return nil, nil
	}
	parents, err := t.parents(v)
	if err != nil {
		return nil, err
	}
	return t.change(append(parents, items...), reason, facts...), nil
}

// planIssue returns the plan where no issuer may be asked for the certificate.
func (t CertificateSet) planIssue(v host.View) (*Change, error) {
	items, err := t.parents(v)
	var facts []host.Fact
	for _, f := range t.files() {
		item, want, lookErr := f.look(v)
		if err = errors.Join(err, lookErr); err != nil {
			return nil, err
		}
		op := Create
		if item == nil || item.Op == Update {
			op = Update
		}
		items = append(items, Item{Key: FileKey(f.Path), Op: op})
		facts = append(facts, fileFact(f.Path, want.info(hostfs.Regular, 0)))
	}
	c := t.change(items, t.Issue, facts...)
	c.Unknown = "until it is issued"
	return c, nil
}

// parents returns items for the missing parent directories.
func (t CertificateSet) parents(v host.View) ([]Item, error) {
	var all []Item
	for _, key := range []graph.Key{t.Owns()[0], t.Owns()[len(t.Owns())-1]} {
		items, err := missingParents(v, key.Name())
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			if !slices.ContainsFunc(all, func(had Item) bool { return had.Key == it.Key }) {
				all = append(all, it)
			}
		}
	}
	return all, nil
}

// location returns where the set is, for messages.
func (t CertificateSet) location() string {
	if t.Dir == "" {
		return t.Kubeconfig.Path
	}
	return t.Dir
}

// Apply implements [Task]. It replaces the files that differ as one batch.
func (t CertificateSet) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	if err := t.usable(h.Live.View()); err != nil {
		return fmt.Errorf("install certificates in %s: %w", t.location(), err)
	}
	b := h.Files.Batch()
	defer b.Discard()
	b.Atomic()
	for _, f := range t.files() {
		item, want, err := f.look(h.Live.View())
		if err == nil && item != nil {
			// also where only owner or mode differ: they belong to the set, too
			err = b.Put(f.Path, f.Content, want.spec())
		}
		if err != nil {
			return fmt.Errorf("install certificates in %s: %w", t.location(), err)
		}
	}
	if err := b.Commit(ctx); err != nil {
		return fmt.Errorf("install certificates in %s: %w", t.location(), err)
	}
	return nil
}

// files returns the set as files. Plans do not show their contents, because the description of a
// certificate says more.
func (t CertificateSet) files() []File {
	m := t.Meta
	m.Secret = true
	var all []File
	if t.Dir != "" {
		for _, f := range []CertFile{t.CA, t.Cert, t.Key} {
			all = append(all,
				File{Meta: m, Path: path.Join(t.Dir, f.Name), Content: f.PEM, Mode: f.Mode, Owner: t.Owner})
		}
	}
	if k := t.Kubeconfig; k != nil {
		all = append(all, File{Meta: m, Path: k.Path, Content: k.text(t), Mode: k.Mode, Owner: t.Owner})
	}
	return all
}

// describe adds to an item which certificate is replaced, and by which one.
func (t CertificateSet) describe(v host.View, f File, item *Item) error {
	text := f.Content
	switch {
	case t.Kubeconfig != nil && f.Path == t.Kubeconfig.Path:
		text = t.Cert.PEM
	case f.Path == path.Join(t.Dir, t.Key.Name):
		return nil
	}
	after := Field{Name: "certificate", After: describePEM(text)}
	i := slices.IndexFunc(item.Fields, func(f Field) bool { return f.Name == "content" })
	switch {
	case item.Op == Create || item.Fields[0].Name == "type":
		item.Fields = append([]Field{after}, item.Fields...)
	case i >= 0:
		old, err := v.Files.ReadFile(f.Path)
		if err != nil {
			return err
		}
		after.Before = describePEM(old)
		item.Fields[i] = after
	}
	return nil
}

// Label names the set for a person: by its certificate's name, or by its path.
func (t CertificateSet) Label() string {
	if t.Name != "" {
		return t.Name
	}
	return "in " + t.location()
}

// withoutIssued removes issued certificates and keys from what the ledger records: a renewed set
// stays the same set, and the key is stored in one place less.
func withoutIssued(t *CertificateSet) {
	if t.Source != "" {
		t.CA.PEM, t.Cert.PEM, t.Key.PEM = nil, nil, nil
	}
}

func (t *CertificateSet) parts() (*Meta, []*secret.Bytes) {
	return &t.Meta, []*secret.Bytes{&t.CA.PEM, &t.Cert.PEM, &t.Key.PEM}
}
