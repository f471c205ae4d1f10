package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

// sumsFile has a line of sha256sum for each file of a release, and its signature the same name with
// .minisig, as minisign looks for it.
const sumsFile = "SHA256SUMS"

// writeSums replaces the sums of a directory and returns them.
func writeSums(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("list the release: %w", err)
	}
	var sums bytes.Buffer
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), sumsFile) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("sum up the release: %w", err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	if err := os.Remove(filepath.Join(dir, sumsFile+".minisig")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove a signature of other sums: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, sumsFile), sums.Bytes(), 0o644); err != nil {
		return nil, fmt.Errorf("write the sums: %w", err)
	}
	return sums.Bytes(), nil
}

// sign signs the sums by a key of `agent store keygen` or minisign. The trusted comment names the
// version, so that an old release cannot pass for a new one.
func sign(dir string, sums []byte, file, version string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the key that signs: %w", err)
	}
	text = bytes.TrimSpace(text)
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		if key, err = minisign.DecryptKey(os.Getenv(passwordVariable), text); err != nil {
			return fmt.Errorf("%s does not open: set %s to the password that it was made with", file, passwordVariable)
		}
	} else if err := key.UnmarshalText(text); err != nil {
		return fmt.Errorf("%s is no private key of minisign: name the .key file that `agent store keygen` made", file)
	}
	signature := minisign.SignWithComments(key, sums, "netwright "+version, "signature of "+sumsFile)
	name := filepath.Join(dir, sumsFile+".minisig")
	if err := os.WriteFile(name, signature, 0o644); err != nil {
		return fmt.Errorf("write the signature: %w", err)
	}
	fmt.Printf("signed by %X: minisign -Vm %s -P %s\n", key.ID(), filepath.Join(dir, sumsFile), key.Public())
	return nil
}
