package network

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/tasks"
)

// identity is a certificate set with which parts of a network, or programs of the user, identify
// themselves to a server, mostly etcd.
type identity struct {
	network string // "calico"; "" is the user's
	origin  string // who asked for it
	because string // "its etcd demands one"
	why     string // of the tasks
	server  string // that the CA checks: "etcd"

	keypair, caName string // in the store's pki; caName is "" if any CA there may have signed
	ca              func(Keypair) []byte
	dir, commonName string
	CA, Cert, Key   tasks.CertFile // names and modes
	kubeconfig      *tasks.Kubeconfig
}

// describe returns the name of the identity for messages.
func (id identity) describe() string {
	if id.network == "" {
		return "the certificate " + id.keypair
	}
	return "the client certificate of " + id.network
}

// addIdentity installs the certificate set of an identity. The set stays on the node when the
// configuration no longer names it, because pods of the network may still use the files, and
// removing them would be an outage.
func (b *Built) addIdentity(in Input, id identity) error {
	b.identities = append(b.identities, id.keypair)
	entry := in.Node.CertificateOf(id.keypair)
	meta := tasks.Meta{From: id.origin, Why: id.why}
	set := tasks.CertificateSet{Meta: confidential(meta), Name: id.keypair, Dir: id.dir, Owner: "root:root",
		CommonName: id.commonName, RetainOnRelease: true,
		CA: id.CA, Cert: id.Cert, Key: id.Key, Kubeconfig: id.kubeconfig}
	pair, ok := in.Keypairs[id.keypair]
	if entry != nil {
		set.Effects = effectsOf(entry)
		if entry.Issued() {
			set.Source, set.CommonName = entry.Source, entry.CommonName
			set.Server = len(entry.Usages) == 1 && entry.Usages[0] == certs.Server
			set.OtherCA = entry.Source == extras.SourceKubernetes && entry.CA == ""
			// The API can sign only after a kubelet has run somewhere in the cluster.
			if entry.Source == extras.SourceKubernetes {
				meta.At, set.At = graph.AfterKubelet, graph.AfterKubelet
			}
			issued := in.Issued[id.keypair]
			pair, ok = issued.Pair, true
			if issued.Late != "" {
				b.note(Warning, id.origin, "%s", issued.Late)
			}
			set.Issue, set.Failure = issued.Plan, issued.Fail
			if set.Issue == "" && set.Failure == nil && len(pair.Cert) == 0 {
				b.add(tasks.Await{Meta: meta, Name: "certificate " + id.keypair,
					Reason: cmp.Or(issued.Wait, "the certificate "+id.keypair+" to be issued"), Retains: set.Owns()})
				return nil
			}
		}
	}
	if !ok {
		return problem.KeypairMissing.Errorf("install %s (%s): %s, and the store has no keypair %s: put "+
			"pki/issued/%s/<id>.crt and pki/private/%s/<id>.key there, signed by %s, or say in spec.certificates who "+
			"issues it", id.describe(), id.origin, id.because, id.keypair, id.keypair, id.keypair,
			cmp.Or(id.caName, "a CA of the store"))
	}
	if err := b.judgeKey(in, id, entry, pair); err != nil {
		return err
	}
	set.CA.PEM, set.Cert.PEM, set.Key.PEM = in.caOf(id, entry, pair), pair.Cert, []byte(pair.Key.Reveal())
	if len(set.CA.PEM) == 0 && set.Issue == "" && set.Failure == nil {
		if id.caName == "" {
			return problem.KeypairMissing.Errorf("install %s (%s): no CA of the store signed it: put its CA into "+
				"pki/issued/%s/ca.crt, or name the CA's keyset in the field ca", id.describe(), id.origin, id.keypair)
		}
		return problem.KeypairMissing.Errorf("install %s (%s): the store has no CA %s to check %s with: put "+
			"pki/issued/%s/<id>.crt there",
			id.describe(), id.origin, id.caName, id.server, id.caName)
	}
	if id.network != "" { // a directory of the user may hold several sets
		b.add(tasks.Directory{Meta: meta, Path: id.dir, Mode: 0o755})
	}
	b.add(set)
	return nil
}

// caOf returns the CA to install with a certificate: the one that its entry names, or else the
// identity's.
func (in Input) caOf(id identity, entry *extras.Certificate, pair Keypair) []byte {
	if entry != nil && entry.CA != "" {
		return in.Keypairs[entry.CA].CA
	}
	return id.ca(pair)
}

// judgeKey returns an error if the private key of a CA would be installed as the node's own. It
// warns of a key that other nodes have too.
func (b *Built) judgeKey(in Input, id identity, entry *extras.Certificate, pair Keypair) error {
	if entry != nil && entry.Issued() {
		return nil
	}
	all, err := certs.Parse(pair.Cert)
	if err == nil && all[0].IsCA {
		return fmt.Errorf("install %s (%s): the keyset %s is a CA, and its private key may make anybody's "+
			"certificate: it has no place on a node as %s's own: name the keyset of a certificate that it signed",
			id.describe(), id.origin, id.keypair, id.keypair)
	}
	if in.Node.Name == "" || strings.HasPrefix(id.origin, "nodes/") ||
		err == nil && names(all[0].Subject.CommonName, certs.Names(all[0]), in.Node.Name) {
		return nil
	}
	b.note(Warning, id.origin, "the key of %s comes from the store, the same for every node that reads it: an "+
		"attacker who takes one node can act as each of them, and to lock that node out the key must change on all; "+
		"let each node make its own key: spec.certificates: [{name: %s, source: kubernetes}]",
		id.keypair, id.keypair)
	return nil
}

// names reports whether a certificate names the node.
func names(commonName string, names []string, node string) bool {
	return strings.Contains(commonName, node) || strings.Contains(" "+strings.Join(names, " ")+" ", " "+node)
}

func effectsOf(entry *extras.Certificate) (out []graph.Key) {
	for _, unit := range entry.Restart {
		out = append(out, tasks.Restart(unit))
	}
	for _, unit := range entry.Reload {
		out = append(out, tasks.Reload(unit))
	}
	return out
}

// Certificates installs those entries of spec.certificates that say where their files go. used is
// what the network added. Certificates warns of each entry that neither installs.
func Certificates(in Input, used Built) (Built, error) {
	var b Built
	var errs []error
	for i := range in.Node.Certificates {
		c := &in.Node.Certificates[i]
		origin := c.Origin.String()
		if !c.Installs() {
			if !slices.Contains(used.identities, c.Name) {
				b.note(Warning, origin, "nothing installs the certificate %s: no network of this node has it: say "+
					"dir, or kubeconfig, or take the entry out", c.Name)
			}
			continue
		}
		id := identity{origin: origin, because: "spec.certificates names it", why: "spec.certificates",
			server: "others", keypair: c.Name, caName: c.CA,
			ca: func(pair Keypair) []byte { return pair.CA }, dir: c.Dir, commonName: c.CommonName,
			CA: tasks.CertFile{Name: c.CAFile, Mode: 0o644}, Cert: tasks.CertFile{Name: c.CertFile, Mode: 0o644},
			Key: tasks.CertFile{Name: c.KeyFile, Mode: 0o600}}
		if k := c.Kubeconfig; k.Path != "" {
			id.kubeconfig = &tasks.Kubeconfig{Path: k.Path, Server: k.Server, Mode: 0o400}
		}
		errs = append(errs, b.addIdentity(in, id))
	}
	return b, errors.Join(errs...)
}

// caOr returns a function that returns the store's CA of that name, or else the CA that signed the
// keypair.
func (in Input) caOr(name string) func(Keypair) []byte {
	return func(pair Keypair) []byte {
		if named, ok := in.Keypairs[name]; ok && len(named.CA) > 0 {
			return named.CA
		}
		return pair.CA
	}
}

func confidential(m tasks.Meta) tasks.Meta {
	m.Secret = true
	return m
}
