package check

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/lazyregexp"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

// Finding is one result of a check, once for all node groups and nodes that it concerns.
type Finding struct {
	document.Diagnostic
	Nodes []string `json:"nodes,omitempty"` // "node group nodes", "node node-1"; none: it concerns the cluster
}

// String renders the finding for a terminal.
func (f Finding) String() string {
	text := f.Diagnostic.String()
	if len(f.Nodes) == 0 {
		return text
	}
	return text + "\n  of " + NamesOf(f.Nodes)
}

// NamesOf returns a list of nodes and groups; of a long list the first ones.
func NamesOf(names []string) string {
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}

// SharedNote is a note with all nodes that have it.
type SharedNote struct {
	Text  string
	Nodes []string
}

// SharedNotes returns the notes of all nodes, each once.
func (c *Checked) SharedNotes() (all []SharedNote) {
	for _, n := range c.Nodes {
		for _, text := range n.Notes {
			i := slices.IndexFunc(all, func(s SharedNote) bool { return s.Text == text })
			if i < 0 {
				all, i = append(all, SharedNote{Text: text}), len(all)
			}
			all[i].Nodes = append(all[i].Nodes, n.Subject())
		}
	}
	return all
}

// findings collects the warnings and errors of a cluster's nodes, by cause.
type findings struct {
	sources []document.Source
	all     []Finding
	unused  []extras.Asset // assets of documents that no node's network has used so far
	used    []string       // origins of used assets
	stored  []string       // relative URLs of archives, each once
}

// assetsAsked records which of a node's assets its tasks use.
func (f *findings) assetsAsked(said []extras.Asset, list []tasks.Task) {
	for _, t := range list {
		if archive, ok := t.(tasks.Archive); ok {
			f.used = append(f.used, archive.From)
		}
	}
	for _, a := range said {
		if !ofNodeup(a.Origin.File) &&
			!slices.ContainsFunc(f.unused, func(have extras.Asset) bool { return have.Origin == a.Origin }) {
			f.unused = append(f.unused, a)
		}
	}
}

// ofNodeup reports whether a document is one that kOps writes for nodeup. Nobody can correct it,
// and none of the agent's documents contains it.
func ofNodeup(file string) bool { return strings.HasPrefix(file, "igconfig/") }

// assetsUnused warns of assets that no node uses: after a mistake in the name, the built-in table
// is used instead.
func (f *findings) assetsUnused() {
	for _, a := range f.unused {
		if a.Origin.File != "" && !slices.Contains(f.used, a.Origin.String()) {
			f.add("", f.at(document.SeverityWarning, problem.PlanWarning, a.Origin.String(),
				fmt.Sprintf("no network of these nodes uses the asset %s: correct its name, or take it out", a.Name)))
		}
	}
}

// add adds a finding for one node; "": for the cluster. Equal findings become one.
func (f *findings) add(who string, d document.Diagnostic) {
	i := slices.IndexFunc(f.all, func(have Finding) bool { return have.Diagnostic == d })
	if i < 0 {
		f.all, i = append(f.all, Finding{Diagnostic: d}), len(f.all)
	}
	if who != "" && !slices.Contains(f.all[i].Nodes, who) {
		f.all[i].Nodes = append(f.all[i].Nodes, who)
	}
}

// inText matches an origin in a text: (cluster.yaml:7:3).
var inText = lazyregexp.New(`^(.*?) ?\(?([^\s():]+):([0-9]+):([0-9]+)\)?(.*)$`)

// at returns a diagnostic for a text, with the first place in the documents that the text names.
func (f *findings) at(severity document.Severity, id problem.ID, origin, text string) document.Diagnostic {
	d := document.Diagnostic{Severity: severity, ID: id, Summary: strings.TrimSuffix(text, " "+id.String())}
	found := inText().FindStringSubmatch(origin)
	if found == nil {
		if found = inText().FindStringSubmatch(d.Summary); found != nil && f.source(found[2]) >= 0 {
			d.Summary = found[1] + found[5]
		}
	}
	if found == nil || f.source(found[2]) < 0 {
		return d
	}
	line, _ := strconv.Atoi(found[3]) // the match has only digits
	column, _ := strconv.Atoi(found[4])
	d.Origin = document.Origin{File: found[2], Line: line, Column: column}
	d.Line, d.Caret = document.Excerpt(f.sources[f.source(found[2])], line, column)
	return d
}

func (f *findings) source(file string) int {
	return slices.IndexFunc(f.sources, func(s document.Source) bool { return s.Path == file })
}

// fail adds each cause of an error.
func (f *findings) fail(who string, err error) {
	for _, cause := range causes(err) {
		f.add(who, f.at(document.SeverityError, cmp.Or(problem.Find(cause), problem.Plan), "", cause.Error()))
	}
}

// causes returns the errors that were joined into one.
func causes(err error) (all []error) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if joined, ok := e.(interface{ Unwrap() []error }); ok && problem.Find(e) != "" {
			for _, one := range joined.Unwrap() {
				all = append(all, causes(one)...)
			}
			return all
		}
	}
	return []error{err}
}

// notes adds the warnings of a plan. Warnings about the machine count only where its facts are real
// and not assumed.
func (f *findings) notes(who string, notes []model.Note, assumed bool) {
	for _, n := range notes {
		d := f.at(document.SeverityWarning, problem.PlanWarning, n.Origin, n.Text)
		if n.Level != network.Info && (!assumed || d.Origin.File != "" && !n.Machine) {
			f.add(who, d)
		}
	}
}

// assets checks the archives of a plan that are in the store against their hash and members.
func (f *findings) assets(ctx context.Context, who string, store statestore.Store, list []tasks.Task) {
	for _, t := range list {
		archive, ok := t.(tasks.Archive)
		if !ok {
			continue
		}
		stored := slices.DeleteFunc(slices.Clone(archive.URLs),
			func(url string) bool { return strings.Contains(url, "://") })
		for _, url := range stored {
			if !slices.Contains(f.stored, url) {
				f.stored = append(f.stored, url)
			}
			err := inspect(ctx, store, archive, url)
			switch {
			case errors.Is(err, fs.ErrNotExist) && len(stored) < len(archive.URLs):
				f.add(who, f.at(document.SeverityWarning, problem.AssetMissing, archive.From,
					fmt.Sprintf("%s is not in the store as %s: nodes fetch it from elsewhere", archive.Name, url)))
			case errors.Is(err, fs.ErrNotExist):
				f.add(who, f.at(document.SeverityError, problem.AssetMissing, archive.From,
					fmt.Sprintf("%s is not in the store as %s: put it there, or give a URL to fetch it from",
						archive.Name, url)))
			case err != nil:
				f.add(who, f.at(document.SeverityError, problem.AssetWrong, archive.From,
					fmt.Sprintf("%s is not what the documents say: %v", url, err)))
			}
		}
	}
}

func inspect(ctx context.Context, store statestore.Store, t tasks.Archive, url string) error {
	body, _, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	defer body.Close()
	return archive.Inspect(ctx, body, archive.Wanted{Name: t.Name, Sum: t.Sum, Members: t.Members})
}

// certificates checks the validity of the store's certificates that a node uses.
func (f *findings) certificates(who string, d *desired.State, used []string, now time.Time) {
	for _, name := range used {
		pair, ok := d.Keypairs[name]
		chain, err := certs.Parse(pair.Cert)
		if !ok || err != nil {
			continue // the plan reports what is missing, and the task what is damaged
		}
		say := func(severity document.Severity, format string, args ...any) {
			f.add(who, document.Diagnostic{Severity: severity, ID: problem.KeypairExpired,
				Origin: document.Origin{File: pair.Origin}, Summary: fmt.Sprintf(format, args...),
				Hint: "issue a new one, put it below pki/, and publish"})
		}
		for _, c := range append(chain, authorities(pair.CA)...) {
			switch life := certs.ValidityOf(c); life.StateAt(now) {
			case certs.Expired:
				say(document.SeverityError, "the certificate %s of keyset %s ended on %s", certs.Subject(c), name,
					c.NotAfter.UTC().Format(time.DateTime))
			case certs.NotYet:
				say(document.SeverityError, "the certificate %s of keyset %s begins on %s", certs.Subject(c), name,
					c.NotBefore.UTC().Format(time.DateTime))
			case certs.Urgent:
				say(document.SeverityWarning, "the certificate %s of keyset %s ends on %s", certs.Subject(c), name,
					c.NotAfter.UTC().Format(time.DateTime))
			}
		}
	}
}

// authorities returns the certificates of a CA; none where they cannot be parsed.
func authorities(text []byte) []*x509.Certificate {
	all, err := certs.Parse(text)
	if err != nil {
		return nil
	}
	return all
}

// named compares the cluster's name in its document with its directory, by which nodes find it.
func (f *findings) named(snap *statestore.Snapshot, n *config.Node) {
	if n.Cluster != "" && n.Cluster != snap.Cluster {
		f.add("", f.at(document.SeverityError, problem.DocumentHeader, n.Origin("metadata.name").String(),
			fmt.Sprintf("the document's name is %q, its directory's is %q: nodes ask by the directory's; rename the "+
				"one that is wrong", n.Cluster, snap.Cluster)))
	}
}

// sorted sorts findings by document and line.
func sorted(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Summary, b.Summary))
	})
	return all
}
