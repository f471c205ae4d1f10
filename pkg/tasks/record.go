package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/secret"
)

// Recorded is a task as the ledger keeps it: enough to make the task again
// without the configuration that it came from. Contents are named by their
// digest and kept elsewhere.
type Recorded struct {
	Kind    string          `json:"kind"`
	Version int             `json:"version"` // of the kind's parameters
	Params  json.RawMessage `json:"params"`
	Blobs   []host.Digest   `json:"blobs,omitempty"` // the task's contents, in the kind's order
	From    string          `json:"from,omitempty"`  // see Task.Origin
	Why     string          `json:"why,omitempty"`
}

// Same says that two records make the same task, whoever asked for it.
func (r Recorded) Same(o Recorded) bool {
	return r.Kind == o.Kind && r.Version == o.Version && bytes.Equal(r.Params, o.Params) &&
		fmt.Sprint(r.Blobs) == fmt.Sprint(o.Blobs)
}

// Kinds of recorded tasks that others than this package look for: a [CertificateSet] and an [Archive].
const (
	KindCertificates = "certificates"
	KindArchive      = "archive"
)

// recordVersion is the version of all kinds' parameters so far. A kind whose
// parameters change their meaning gets one of its own.
const recordVersion = 1

// Record turns a task into what the ledger keeps, and its contents, in the
// order of [Recorded.Blobs]. What only waits is not recorded: its Kind is "".
func Record(t Task) (Recorded, []host.Content, error) {
	switch t := t.(type) {
	case Directory:
		return record("directory", &t)
	case File:
		return recordFile(t)
	case *File:
		return Record(*t)
	case SymbolicLink:
		return record("symlink", &t)
	case Archive:
		t.Fetch = nil
		return record(KindArchive, &t)
	case CertificateSet:
		if t.Source != "" { // issued to this node: renewed, it is the same set, and its key is in one place less
			t.CA.PEM, t.Cert.PEM, t.Key.PEM = nil, nil, nil
		}
		return record(KindCertificates, &t)
	case TOMLKey:
		return record("toml", &t)
	case Sysctl:
		return record("sysctl", &t)
	case Module:
		return record("module", &t)
	case Mount:
		return record("mount", &t)
	case Unit:
		return record("unit", &t)
	case DropIn:
		return record("drop-in", &t)
	case UnitState:
		return record("unit-state", &t)
	case Link:
		return record("link", &t)
	case Address:
		return record("address", &t)
	case Route:
		return record("route", &t)
	case Rule:
		return record("rule", &t)
	case Table:
		return record("nft", &t)
	case ForwardAccept:
		return record("forward", &t)
	case Effect:
		return record("effect", &t)
	}
	return Recorded{}, nil, nil
}

// Rebuild makes the task again. blob reads a content by its digest. Archives
// come back without a fetcher: see [Archive.Fetch].
func Rebuild(r Recorded, blob func(host.Digest) ([]byte, error)) (Task, error) {
	if r.Version != recordVersion {
		return nil, fmt.Errorf("rebuild a %s of version %d: this agent knows version %d: run the agent that wrote it", r.Kind, r.Version, recordVersion)
	}
	switch r.Kind {
	case "directory":
		return rebuild[Directory](r, blob)
	case "file":
		return rebuild[File](r, blob)
	case "symlink":
		return rebuild[SymbolicLink](r, blob)
	case KindArchive:
		return rebuild[Archive](r, blob)
	case KindCertificates:
		return rebuild[CertificateSet](r, blob)
	case "toml":
		return rebuild[TOMLKey](r, blob)
	case "sysctl":
		return rebuild[Sysctl](r, blob)
	case "module":
		return rebuild[Module](r, blob)
	case "mount":
		return rebuild[Mount](r, blob)
	case "unit":
		return rebuild[Unit](r, blob)
	case "drop-in":
		return rebuild[DropIn](r, blob)
	case "unit-state":
		return rebuild[UnitState](r, blob)
	case "link":
		return rebuild[Link](r, blob)
	case "address":
		return rebuild[Address](r, blob)
	case "route":
		return rebuild[Route](r, blob)
	case "rule":
		return rebuild[Rule](r, blob)
	case "nft":
		return rebuild[Table](r, blob)
	case "forward":
		return rebuild[ForwardAccept](r, blob)
	case "effect":
		return rebuild[Effect](r, blob)
	}
	return nil, fmt.Errorf("rebuild a task of kind %q: this agent does not know it: run the agent that wrote it", r.Kind)
}

// recordable is a pointer to a kind: its parameters are its fields, but for
// what parts names.
type recordable[T any] interface {
	*T
	parts() (*Meta, []*secret.Bytes)
}

// parts are the Meta of a task and its contents. Kinds with contents have their own.
func (m *Meta) parts() (*Meta, []*secret.Bytes) { return m, nil }

func (t *File) parts() (*Meta, []*secret.Bytes)   { return &t.Meta, []*secret.Bytes{&t.Content} }
func (t *Unit) parts() (*Meta, []*secret.Bytes)   { return &t.Meta, []*secret.Bytes{&t.Content} }
func (t *DropIn) parts() (*Meta, []*secret.Bytes) { return &t.Meta, []*secret.Bytes{&t.Content} }
func (t *CertificateSet) parts() (*Meta, []*secret.Bytes) {
	return &t.Meta, []*secret.Bytes{&t.CA.PEM, &t.Cert.PEM, &t.Key.PEM}
}

// recordFile is record of a file whose content may be elsewhere.
func recordFile(t File) (Recorded, []host.Content, error) {
	content := t.content()
	t.Content = nil
	r, _, err := record("file", &t)
	if err != nil {
		return r, nil, err
	}
	r.Blobs[0] = content.Sum
	return r, []host.Content{content}, nil
}

// record empties its copy of a task of what is kept beside the parameters, and encodes the rest.
func record[T any, P recordable[T]](kind string, t P) (Recorded, []host.Content, error) {
	meta, contents := t.parts()
	r := Recorded{Kind: kind, Version: recordVersion, From: meta.From, Why: meta.Why}
	meta.From, meta.Why, meta.Overrides = "", "", ""
	var blobs []host.Content
	for _, c := range contents {
		content := host.ContentOf(*c)
		blobs, r.Blobs = append(blobs, content), append(r.Blobs, content.Sum)
		*c = nil
	}
	var err error
	if r.Params, err = json.Marshal(t); err != nil {
		return Recorded{}, nil, fmt.Errorf("record a %s: %w", kind, err)
	}
	return r, blobs, nil
}

func rebuild[T Task, P recordable[T]](r Recorded, blob func(host.Digest) ([]byte, error)) (Task, error) {
	var t T
	if err := json.Unmarshal(r.Params, &t); err != nil {
		return nil, fmt.Errorf("rebuild a %s: %w", r.Kind, err)
	}
	meta, contents := P(&t).parts()
	meta.From, meta.Why = r.From, r.Why
	if len(contents) != len(r.Blobs) {
		return nil, fmt.Errorf("rebuild a %s: %d contents are recorded, it has %d", r.Kind, len(r.Blobs), len(contents))
	}
	for i, c := range contents {
		var err error
		if *c, err = blob(r.Blobs[i]); err != nil {
			return nil, fmt.Errorf("rebuild a %s: %w", r.Kind, err)
		}
		if sha256.Sum256(*c) != r.Blobs[i] {
			return nil, fmt.Errorf("rebuild a %s: its content %s is damaged", r.Kind, r.Blobs[i])
		}
	}
	if key, ok := any(&t).(*TOMLKey); ok {
		key.Value = plainTOML(key.Value)
	}
	return t, nil
}

// plainTOML undoes what JSON makes of the values of a [TOMLKey].
func plainTOML(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	return v
}
