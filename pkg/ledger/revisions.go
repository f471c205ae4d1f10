package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostfs/head"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/tasks"
)

const (
	revisionDir = Dir + "/revisions"
	blobDir     = Dir + "/blobs"
)

// MaxRevisions is how many revisions are kept, besides one to which the node is pinned.
const MaxRevisions = 10

// Revision is a whole set of tasks that was applied, and that a rollback can apply again.
type Revision struct {
	Number    int       `json:"number"`
	Time      time.Time `json:"time"`
	By        string    `json:"by"`
	Cluster   string    `json:"cluster"`
	NodeGroup string    `json:"nodeGroup,omitempty"`
	Node      string    `json:"node"`
	// Machine is the machine-id of the machine that applied it; "" in an image, or from an earlier
	// release.
	Machine     string           `json:"machine,omitempty"`
	Network     string           `json:"network"`
	Declared    string           `json:"declared,omitempty"` // see Network.Declared
	Store       string           `json:"store"`
	Generation  int64            `json:"generation"`
	Digest      string           `json:"digest"`
	Fingerprint string           `json:"print"` // see Head.Fingerprint
	Tasks       []tasks.Recorded `json:"tasks"`
	// Waits are its waits for CNI confs. An agent of an earlier release does not wait for them.
	Waits []tasks.Recorded `json:"waits,omitempty"`
	// probes that passed after the change that first applied it
	Proofs        []string `json:"proofs,omitempty"`
	MissingProofs []string `json:"unproved,omitempty"` // kinds of proofs that this change does not have
}

// Revisions returns the revisions of this machine, oldest first. It leaves out damaged ones, and
// returns an error that names them.
func Revisions(r Reader) ([]Revision, error) {
	numbers, err := revisionNumbers(r)
	if err != nil {
		return nil, err
	}
	var out []Revision
	var failed []error
	for _, n := range numbers {
		rev, err := readRevision(r, n)
		if err == nil && host.IsOtherMachine(r, rev.Machine) {
			continue
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		out = append(out, *rev)
	}
	return out, errors.Join(failed...)
}

// ReadRevision reads one revision of this machine. It refuses one of another machine, whose disk
// this one has, because that revision has the addresses of the other machine.
func ReadRevision(r Reader, number int) (*Revision, error) {
	rev, err := readRevision(r, number)
	if err == nil && host.IsOtherMachine(r, rev.Machine) {
		return nil, problem.RevisionMissing.Missing(
			"read revision %d: it is of another machine, whose disk this one has: `agent history` lists this one's", number)
	}
	return rev, err
}

func readRevision(r Reader, number int) (*Revision, error) {
	data, err := r.ReadFile(revisionFile(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.RevisionMissing.Missing(
			"read revision %d: it is not kept: `agent history` lists the revisions that are", number)
	}
	if err != nil {
		return nil, fmt.Errorf("read revision %d: %w", number, err)
	}
	var rev Revision
	if err := json.Unmarshal(data, &rev); err != nil || rev.Number != number {
		return nil, fmt.Errorf("read revision %d: %s is damaged: choose another one from `agent history`", number,
			revisionFile(number))
	}
	return &rev, nil
}

// ReadRevisionHead reads only the fields of a revision before its tasks.
func ReadRevisionHead(r head.Reader, number int) (*Revision, error) {
	var rev Revision
	if err := head.Read(r, revisionFile(number), "tasks", "}", &rev); err != nil {
		return nil, fmt.Errorf("read revision %d: %w", number, err)
	}
	return &rev, nil
}

// DropRevision removes a revision that is not the current one. It succeeds if there is none.
func DropRevision(w Host, number int) error {
	if err := w.Remove(revisionFile(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove revision %d: %w", number, err)
	}
	return nil
}

// Directories returns the directories of the ledger, in which a run that was killed may have left
// files.
func Directories() []string { return []string{Dir, blobDir, revisionDir} }

func revisionFile(number int) string { return revisionDir + "/" + strconv.Itoa(number) + ".json" }

func revisionNumbers(r Reader) ([]int, error) {
	names, err := r.ReadDir(revisionDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the revisions: %w", err)
	}
	var out []int
	for _, name := range names {
		n, _ := strconv.Atoi(strings.TrimSuffix(name, ".json")) // another name is not the file of a number
		if n > 0 && revisionFile(n) == revisionDir+"/"+name {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// NextRevision returns the number of the next revision.
func (l *Ledger) NextRevision(r Reader) (int, error) {
	numbers, err := revisionNumbers(r)
	if err != nil {
		return 0, err
	}
	last := l.head.Current
	if len(numbers) > 0 {
		last = max(last, numbers[len(numbers)-1])
	}
	return last + 1, nil
}

// Blob reads a content by its digest, and verifies it.
func Blob(r Reader, sum blob.Digest) ([]byte, error) {
	data, err := r.ReadFile(blobDir + "/" + sum.String())
	if err != nil {
		return nil, fmt.Errorf("read a content that the ledger keeps: %w", err)
	}
	if blob.Digest(sha256.Sum256(data)) != sum {
		return nil, fmt.Errorf("read a content that the ledger keeps: %s is damaged", blobDir+"/"+sum.String())
	}
	return data, nil
}

// saveContents writes the blobs and the revision of a batch, as one batch of files. Only root can
// read them, because contents may be secrets.
func saveContents(ctx context.Context, w Host, b Batch) error {
	batch := w.Batch()
	defer batch.Discard()
	files := map[string]blob.Content{}
	for _, content := range b.Blobs { // a list of all that are kept would take longer
		name := blobDir + "/" + content.Sum.String()
		kept, err := hostfs.Exists(batch, name)
		if err != nil {
			return unwritten(err)
		}
		if !kept {
			files[name] = content
		}
	}
	if len(files) > 0 {
		if err := w.Mkdir(blobDir, 0o700, 0, 0); err != nil {
			return unwritten(err)
		}
	}
	if b.Revision != nil {
		if err := w.Mkdir(revisionDir, 0o700, 0, 0); err != nil {
			return unwritten(err)
		}
		data, err := json.Marshal(b.Revision)
		if err != nil {
			return fmt.Errorf("encode revision %d: %w", b.Revision.Number, err)
		}
		files[revisionFile(b.Revision.Number)] = blob.Of(data)
	}
	if len(files) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content, err := files[name].Bytes()
		if err == nil {
			err = batch.Put(name, content, hostfs.FileSpec{Mode: 0o600})
		}
		if err != nil {
			return unwritten(err)
		}
	}
	if err := batch.Commit(ctx); err != nil {
		return unwritten(err)
	}
	return nil
}

// Tidy removes the oldest revisions, those of another machine, and the contents that no entry and
// no revision names. It is called after a revision was added.
func (l *Ledger) Tidy(w Host) error {
	numbers, err := revisionNumbers(w)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for i, n := range numbers {
		held := l.head.Pin != nil && l.head.Pin.Revision == n
		rev, err := readRevision(w, n)
		if len(numbers)-i > MaxRevisions && !held && n != l.head.Current ||
			err == nil && host.IsOtherMachine(w, rev.Machine) {
			if err := w.Remove(revisionFile(n)); err != nil {
				return fmt.Errorf("remove revision %d: %w", n, err)
			}
			continue
		}
		if err != nil {
			return nil // a damaged revision may need any content, so remove none
		}
		for _, t := range rev.Tasks {
			name(named, t.Blobs...)
		}
	}
	for _, e := range l.Entries() {
		if e.Task != nil {
			name(named, e.Task.Blobs...)
		}
		if e.Baseline != nil && e.Baseline.Blob != nil {
			name(named, *e.Baseline.Blob)
		}
	}
	switch good, err := ReadLastGood(w); {
	case err != nil:
		return nil // its contents are not known, so remove none
	case good != nil:
		name(named, good.Manifest, good.Objects)
	}
	blobs, err := w.ReadDir(blobDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the contents that the ledger keeps: %w", err)
	}
	for _, blob := range blobs {
		if !named[blob] {
			if err := w.Remove(blobDir + "/" + blob); err != nil {
				return fmt.Errorf("remove an unused content: %w", err)
			}
		}
	}
	return nil
}

func name(named map[string]bool, sums ...blob.Digest) {
	for _, sum := range sums {
		named[sum.String()] = true
	}
}
