package tasks

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/secret"
)

// usable returns what is wrong with the set. It ignores the dates of a set that is on the node as
// wanted.
func (t CertificateSet) usable(v host.View) error {
	err := t.check(time.Now())
	if _, ok := errors.AsType[*dateError](err); !ok {
		return err
	}
	for _, f := range t.files() {
		have, readErr := v.Files.ReadFile(f.Path)
		if readErr != nil || !bytes.Equal(have, f.Content) {
			return err
		}
	}
	return nil
}

// dateError says that a certificate is not valid at this time. Its text has no present time: each
// pass would have another one, and publish another status.
type dateError struct{ error }

func (e *dateError) Unwrap() error { return e.error }

// check returns what is wrong with the set at a time: whether its parts belong together and are
// valid.
func (t CertificateSet) check(now time.Time) error {
	roots, err := certs.Parse(t.CA.PEM)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.CA.Name, err)
	}
	chain, err := certs.Parse(t.Cert.PEM)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Cert.Name, err)
	}
	leaf := chain[0]
	key, err := certs.ParseKey(secret.Of(t.Key.PEM))
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Key.Name, err)
	}
	if !certs.KeyMatches(key, leaf) {
		return fmt.Errorf("%s is not the key of %s (%s): publish the pair that was issued together", t.Key.Name,
			t.Cert.Name, certs.Subject(leaf))
	}
	if t.CommonName != "" && leaf.Subject.CommonName != t.CommonName {
		return fmt.Errorf("%s has the common name %q, expected %q: issue it with that name, or correct the "+
			"configuration",
			t.Cert.Name, leaf.Subject.CommonName, t.CommonName)
	}
	if err := t.checkDates(leaf, now); err != nil {
		return err
	}
	if t.OtherCA {
		return nil
	}
	return t.checkChain(leaf, chain[1:], roots, now)
}

func (t CertificateSet) checkDates(leaf *x509.Certificate, now time.Time) error {
	if now.Before(leaf.NotBefore) {
		return &dateError{graph.Wait(fmt.Sprintf("the clock to reach %s, when %s (%s) becomes valid: "+
			"check that the clock is right",
			leaf.NotBefore.UTC().Format(time.DateTime), t.Cert.Name,
			certs.Subject(leaf)))}
	}
	if now.After(leaf.NotAfter) {
		return &dateError{fmt.Errorf("%s (%s) expired on %s: issue a new one and publish it, or set the clock if it "+
			"is wrong",
			t.Cert.Name, certs.Subject(leaf), leaf.NotAfter.UTC().Format(time.DateTime))}
	}
	return nil
}

// checkChain checks that a peer that trusts the CA would accept the certificate.
func (t CertificateSet) checkChain(leaf *x509.Certificate, between, roots []*x509.Certificate, now time.Time) error {
	usage := x509.ExtKeyUsageClientAuth
	if t.Server {
		usage = x509.ExtKeyUsageServerAuth
	}
	opt := x509.VerifyOptions{Roots: certs.Pool(roots), Intermediates: certs.Pool(between), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{usage}}
	_, err := leaf.Verify(opt)
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage && t.Server:
		return fmt.Errorf("%s (%s) is not for servers: issue it with the extended key usage serverAuth: %w",
			t.Cert.Name, certs.Subject(leaf), err)
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("%s (%s) is not for clients: issue it with the extended key usage clientAuth: %w",
			t.Cert.Name, certs.Subject(leaf), err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &dateError{fmt.Errorf("%s is signed by a CA that is not valid now (%s): renew the CA, then the "+
			"certificate", t.Cert.Name, certs.Describe(roots[0]))}
	case certs.SignedBy(leaf, roots, between...) != nil:
		return fmt.Errorf("%s (%s) is signed under the CA in %s (%s), but peers refuse it: issue it within "+
			"the constraints of the CAs above it: %w", t.Cert.Name, certs.Subject(leaf), t.CA.Name,
			certs.Subject(roots[0]), err)
	}
	return fmt.Errorf("%s (%s, issued by %s) is not signed by the CA in %s (%s): publish the CA that signed it: %w",
		t.Cert.Name, certs.Subject(leaf), leaf.Issuer, t.CA.Name, certs.Subject(roots[0]), err)
}

// describePEM returns the subject and the validity of the certificate in a file.
func describePEM(text []byte) string {
	all, err := certs.Parse(text)
	if err != nil {
		return "none"
	}
	return certs.Describe(all[0])
}
