package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// keyPassword is an environment variable for the key's password, for CI systems that pass secrets
// as variables.
const keyPassword = "NETWRIGHT_KEY_PASSWORD"

func keygenCommand(f *cli.Flags) *cobra.Command {
	out, passwordFile := "netwright", ""
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a key that signs what is published",
		Long: `keygen makes a key pair in minisign's format. NAME.key signs, and only you may read it.
Put NAME.pub into trustedKeys of every node's agent.yaml. A password (--password-file,
or ` + keyPassword + `) encrypts the key. keygen replaces no file.`,
		Example: `  agent store keygen --out netwright
  agent store publish ./store s3://bucket/prefix --key netwright.key`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			password, err := readPassword(passwordFile)
			if err != nil {
				return err
			}
			public, private, err := minisign.GenerateKey(rand.Reader)
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			text, err := private.MarshalText()
			if !password.IsZero() {
				text, err = minisign.EncryptKey(password.Reveal(), private)
			}
			if err != nil {
				return fmt.Errorf("encode the key: %w", err)
			}
			w, path, err := cli.OpenWriter(out)
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			defer w.Close() // every write was synced and checked where it was made
			pub := fmt.Appendf(nil, "untrusted comment: minisign public key %s\n%s\n", trust.ID(public.ID()), public)
			if err := w.CreateFile(cmd.Context(), path+".key", append(text, '\n'), 0o600); err != nil {
				return err
			}
			if err := w.CreateFile(cmd.Context(), path+".pub", pub, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(f.Out, "%s.key signs: keep it where nobody else can read it\n%s.pub verifies; in "+
				"/etc/netwright/agent.yaml of every node:\n\ntrustedKeys: [%s]\n", out, out, public)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", out, "path of the files, without .key and .pub")
	addPasswordFile(cmd, &passwordFile)
	return cmd
}

func addPasswordFile(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "password-file", "",
		"file whose first line is the key's password (or set "+keyPassword+")")
}

// readPassword reads the password from a file, or from the environment; empty where neither has
// one.
func readPassword(file string) (secret.Text, error) {
	if file == "" {
		return secret.New(os.Getenv(keyPassword)), nil
	}
	data, err := cli.ReadFile(file)
	if err != nil {
		return secret.Text{}, problem.KeyWrong.Errorf("read the key's password: %w", err)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if len(line) == 0 {
		return secret.Text{}, problem.KeyWrong.Errorf("%s has no password in its first line: write it there", file)
	}
	return secret.Of(line), nil
}

// readKey reads a private key. No error text contains a part of it.
func readKey(file, passwordFile string) (*minisign.PrivateKey, error) {
	text, err := cli.ReadFile(file)
	if err != nil {
		return nil, problem.KeyWrong.Errorf("read the key that signs: %w: `agent store keygen` makes one", err)
	}
	text = bytes.TrimSpace(certs.StripBOM(text))
	if !minisign.IsEncrypted(text) {
		key := new(minisign.PrivateKey)
		if err := key.UnmarshalText(text); err != nil {
			return nil, problem.KeyWrong.Errorf("%s is no private key of minisign: name the .key file that `agent "+
				"store keygen` made", file)
		}
		return key, nil
	}
	password, err := readPassword(passwordFile)
	if err != nil {
		return nil, err
	}
	if password.IsZero() {
		return nil,
			problem.KeyWrong.Errorf("%s is locked with a password: give --password-file, or set %s", file, keyPassword)
	}
	key, err := minisign.DecryptKey(password.Reveal(), text)
	if err != nil {
		return nil, problem.KeyWrong.Errorf("the password does not open %s: give the one that it was made with", file)
	}
	return &key, nil
}

// publicKey parses a key from the command line, or from a file that is named there.
func publicKey(text string) (trust.Key, error) {
	if !strings.HasPrefix(text, "RW") || strings.HasSuffix(text, ".pub") {
		data, err := cli.ReadFile(text)
		if err != nil {
			return trust.Key{}, problem.KeyWrong.Errorf("read a public key: %w", err)
		}
		return trust.ParseKey(string(data), text)
	}
	return trust.ParseKey(text, "--public-key")
}
