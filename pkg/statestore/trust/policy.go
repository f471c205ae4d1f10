// Package trust decides whether a published manifest is taken: by its hash, which the agent's own
// file pins, or by the signature of a key that the file lists; and never when it has expired or is
// older than what was seen. All stores ask it in one place, where they have read the manifest and
// before they look at anything that it says.
//
// It protects from whoever can write to the store, stands between store and node, or keeps an old
// publication to play it back. It does not protect from who has a listed key, nor from root on the
// node, who writes the list.
package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
)

// Policy is what a node trusts. Every condition that stands in it must hold; the zero Policy trusts
// nothing.
type Policy struct {
	// Pin names the one manifest that is taken. A person put it there, so that it may be an older
	// one.
	Pin Pin
	// Keys are those of which one must have signed. While keys are changed there are two.
	Keys []Key
	// Unsigned takes a manifest without a signature, where the node has neither a pin nor keys.
	Unsigned bool
	// Older takes an older generation than was seen, or another one of the same number: a person
	// says so.
	Older bool
	// Seen says what was seen last of a store; nil: nothing was. It is asked at each check.
	// While it is not known, nothing is taken.
	Seen func(store string) (Seen, error)
	// Now is the clock for what expires; nil: the host's.
	Now func() time.Time
}

// Pin is the sha256 of a manifest's JSON, in hex. The zero Pin is none.
type Pin struct {
	Digest string
	Origin string // where it is said: "/etc/netwright/agent.yaml:3:6"
}

// Key is a key that may sign.
type Key struct {
	Public minisign.PublicKey
	Origin string
}

// Seen is the newest publication that a node has taken, or that waits there. The zero Seen is none.
type Seen struct {
	Generation int64
	Digest     string // of the statement
}

// ParseKey decodes a public key: the base64 line of a .pub file, or both of its lines.
func ParseKey(text, origin string) (Key, error) {
	k := Key{Origin: origin}
	text = strings.TrimPrefix(text, "\ufeff") // which some editors write
	if err := k.Public.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return Key{}, problem.KeyWrong.Errorf("%s: this is no public key of minisign: %w: `agent store keygen` makes "+
			"one", origin, err)
	}
	if weak(text) {
		return Key{}, problem.KeyWrong.Errorf("%s: signatures of this key can be made without its private key (its "+
			"point has a small order, as a key of zeros): `agent store keygen` makes another", origin)
	}
	return k, nil
}

// stated is what of a statement is decided on. What else it says is for who reads it.
type stated struct {
	Generation int64     `json:"generation"`
	Expires    time.Time `json:"expires"`
}

// Check returns the statement of a manifest object if the policy takes it: from then on it may be
// believed. store names where it was read, for messages and for what was seen. Every error is
// permanent: the same bytes fail again until a person does something, which the error says.
func (p Policy) Check(raw []byte, store string) (statement []byte, err error) {
	statement, signatures, err := Split(raw)
	if err == nil {
		err = p.vouched(statement, signatures)
	}
	if err == nil {
		err = p.fresh(statement, store)
	}
	if err != nil {
		return nil, graph.Permanent(err)
	}
	return statement, nil
}

// CheckOwn is Check for a manifest that was made up for a directory, which nobody can have signed:
// unless a pin or a key is asked for the directory must be the host's own. foreign says why it is
// not; nil: it is.
func (p Policy) CheckOwn(statement []byte, foreign error) error {
	switch {
	case len(p.Keys) > 0:
		return graph.Permanent(problem.SignatureMissing.Errorf("its documents lie there plain, and %s takes only what "+
			"is signed: publish them with `agent store publish`", p.Keys[0].Origin))
	case p.Pin.Digest != "":
		if err := p.pinned(statement); err != nil {
			return graph.Permanent(err)
		}
	case foreign != nil && !p.Unsigned:
		return graph.Permanent(foreign)
	}
	return nil
}

// CheckCached is Check for what a node has kept of what it took: it may have expired meanwhile, it
// is what was seen last, and a pin says which is to be taken next. Where no key is asked for, the
// policy of that time vouched for it, or the directory that it lay in.
func (p Policy) CheckCached(raw []byte) (statement []byte, err error) {
	statement, signatures, err := Split(raw)
	if err == nil {
		p.Pin, p.Unsigned = Pin{}, true
		err = p.vouched(statement, signatures)
	}
	if err != nil {
		return nil, graph.Permanent(err)
	}
	return statement, nil
}

// Why a manifest is refused, for who reports it: neither is an outage of the store.
var (
	// ErrUntrusted is of one that no trusted key signed as it is, or that is older than what was
	// taken.
	ErrUntrusted = errors.New("the manifest is not trusted")
	// ErrPinned is of one that is another than the pin names.
	ErrPinned = errors.New("the manifest is not the pinned one")
)

// refusal is an error of a kind that its text does not name.
type refusal struct {
	error
	kind error
}

func (r *refusal) Unwrap() []error { return []error{r.error, r.kind} }

// of makes an error one of a kind.
func of(kind, err error) error {
	if err == nil {
		return nil
	}
	return &refusal{err, kind}
}

// vouched holds a statement to the pin and to the keys.
func (p Policy) vouched(statement []byte, signatures []string) error {
	if p.Pin.Digest == "" && len(p.Keys) == 0 && !p.Unsigned {
		return problem.SignatureMissing.Errorf("nothing vouches for its manifest, which has sha256 %s: set pin or "+
			"trustedKeys in the agent's file, or take what anybody wrote there with --insecure-unsigned",
			Digest(statement))
	}
	if err := p.pinned(statement); err != nil {
		return of(ErrPinned, err)
	}
	return of(ErrUntrusted, p.signed(statement, signatures))
}

func (p Policy) pinned(statement []byte) error {
	if got := Digest(statement); p.Pin.Digest != "" && got != p.Pin.Digest {
		return problem.PinDiffers.Errorf("its manifest has sha256 %s, and %s pins %s: if you published another one, "+
			"set the pin to it; else somebody changed the store: publish the pinned one again",
			got, p.Pin.Origin, p.Pin.Digest)
	}
	return nil
}

// signed needs one signature of a key that is listed. Others may stand beside it, of keys that
// other nodes trust.
func (p Policy) signed(statement []byte, signatures []string) error {
	if len(p.Keys) == 0 {
		return nil
	}
	if len(signatures) == 0 {
		return problem.SignatureMissing.Errorf("its manifest, which has sha256 %s, is not signed, and %s: sign it "+
			"with `agent store sign`, or publish with --key", Digest(statement), p.trusted())
	}
	var by []string
	var broken, unread error
	for _, text := range signatures {
		s, err := parseSignature(text)
		if err != nil { // of another kind, for nodes that know it
			unread = err
			continue
		}
		by = append(by, ID(s.KeyID))
		for _, k := range p.Keys {
			if k.Public.ID() != s.KeyID {
				continue
			}
			if minisign.Verify(k.Public, statement, []byte(text)) {
				return nil
			}
			broken = problem.SignatureUntrusted.Errorf("its manifest, which has sha256 %s, is not what key %s (%s) "+
				"signed: somebody changed it since: publish again", Digest(statement), ID(s.KeyID), k.Origin)
		}
	}
	switch {
	case broken != nil:
		return broken
	case by == nil:
		return unread
	}
	return problem.SignatureUntrusted.Errorf("its manifest, which has sha256 %s, is signed by key %s, and %s: publish "+
		"with a key of those, or add this one to trustedKeys if it is yours",
		Digest(statement), strings.Join(by, " and "), p.trusted())
}

// trusted says which keys are listed, and where.
func (p Policy) trusted() string {
	list := make([]string, len(p.Keys))
	for i, k := range p.Keys {
		list[i] = fmt.Sprintf("%s (%s)", ID(k.Public.ID()), k.Origin)
	}
	return "only these keys are trusted: " + strings.Join(list, ", ")
}

// fresh refuses what has expired and what goes back.
func (p Policy) fresh(statement []byte, store string) error {
	var s stated
	if err := json.Unmarshal(statement, &s); err != nil {
		return problem.StoreManifest.Errorf("decode manifest: %w: publish again", err)
	}
	if err := p.Expired(s.Expires); err != nil {
		return err
	}
	if p.Older || p.Pin.Digest != "" || p.Seen == nil {
		return nil
	}
	seen, err := p.Seen(store)
	if err != nil {
		return fmt.Errorf("whether its manifest is older than what this node has seen is not known: %w", err)
	}
	digest := Digest(statement)
	switch {
	case s.Generation < seen.Generation:
		return of(ErrUntrusted, problem.GenerationOlder.Errorf("its manifest is of generation %d with sha256 %s, and "+
			"this node has seen generation %d with sha256 %s: somebody put an old one back; publish again with "+
			"--above %[3]d, or take it with --accept-older-generation",
			s.Generation, digest, seen.Generation, seen.Digest))
	case s.Generation == seen.Generation && seen.Digest != "" && digest != seen.Digest:
		return of(ErrUntrusted, problem.GenerationOlder.Errorf("its manifest is of generation %d with sha256 %s, and "+
			"this node has seen another one of that number, with sha256 %s: publish again with --above %[1]d, or "+
			"take it with --accept-older-generation",
			s.Generation, digest, seen.Digest))
	}
	return nil
}

// ErrExpired is of a configuration that must not be taken for new any more. One that is in force
// stays so.
var ErrExpired = errors.New("expired")

// Expired says that the moment at which a manifest ends has passed; nil: it has not, or there is
// none.
func (p Policy) Expired(at time.Time) error {
	now := time.Now()
	if p.Now != nil {
		now = p.Now()
	}
	if at.IsZero() || now.Before(at) {
		return nil
	}
	return problem.GenerationExpired.Errorf("its manifest has %w at %s, and here it is %s: publish again, or set the "+
		"clock", ErrExpired, at.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}
