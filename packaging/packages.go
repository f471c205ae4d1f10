package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // nfpm finds its formats so
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// rpmArch are the architectures of a release in GOARCH's words, which are also Debian's, and in
// rpm's.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

const (
	summary     = "converges a Kubernetes node's network" // as Debian writes it: no sentence
	description = "The agent reads a node's configuration from a state store and makes the host's\nnetwork match, proves that it does, and keeps it so: CNI plugins and\nconfiguration, sysctls, modules, links, routes, firewall rules."
)

// release is what packages are made of.
type release struct {
	described, version string // git's words and those of packages
	built              time.Time
	root, manual       string
	programs           map[string]string // architecture → file
	gpgKey             string            // file with the secret key that signs packages, or ""
}

// packages writes both packages of each program into a directory, which it makes.
func (r release) packages(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the release's directory: %w", err)
	}
	staged, err := os.MkdirTemp("", "netwright-packaging-")
	if err != nil {
		return fmt.Errorf("make packages: %w", err)
	}
	defer os.RemoveAll(staged) // a directory of temporary files
	s := stage{dir: staged, built: r.built}
	for _, arch := range []string{"amd64", "arm64"} {
		if r.programs[arch] == "" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			name := fmt.Sprintf("netwright_%s_%s.deb", r.version, arch)
			if format == "rpm" {
				name = fmt.Sprintf("netwright-%s-1.%s.rpm", r.version, rpmArch[arch])
			}
			if err := r.build(&s, format, arch, filepath.Join(out, name)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Println(filepath.Join(out, name))
		}
	}
	return nil
}

func (r release) build(s *stage, format, arch, file string) error {
	info := &nfpm.Info{
		Name: "netwright", Arch: arch, Platform: "linux", Version: r.version, VersionSchema: "none", Section: "net", Priority: "optional",
		Maintainer: "Netwright <maintainers@netwright.dev>", Vendor: "Netwright", Homepage: "https://github.com/netwright/netwright",
		Description: summary + "\n" + description, MTime: r.built, DisableGlobbing: true,
	}
	info.Depends = []string{"systemd"}
	info.Recommends = []string{"ca-certificates", "kmod"} // https:// and s3:// stores; modprobe@.service
	// Gzip: each dpkg and rpm reads it, and a release of both architectures is made in seconds.
	info.Deb.Compression, info.RPM.Compression = "gzip", "gzip:9"
	info.RPM.BuildHost, info.RPM.Summary = "localhost", summary
	// As debsigs signs, and as rpmsign does.
	info.Deb.Signature.KeyFile, info.Deb.Signature.KeyPassphrase = r.gpgKey, os.Getenv(gpgPasswordVariable)
	info.RPM.Signature.KeyFile, info.RPM.Signature.KeyPassphrase = r.gpgKey, os.Getenv(gpgPasswordVariable)
	var err error
	if info.Contents, err = r.contents(s, format, arch); err != nil {
		return err
	}
	names := map[*string]string{&info.Scripts.PostInstall: "deb-postinst", &info.Scripts.PreRemove: "deb-prerm", &info.Scripts.PostRemove: "deb-postrm"}
	if format == "rpm" {
		info.Description, info.License = description, "Apache-2.0"
		names = map[*string]string{&info.Scripts.PostInstall: "rpm-post", &info.Scripts.PreRemove: "rpm-preun", &info.Scripts.PostRemove: "rpm-postun"}
	}
	for path, name := range names {
		if *path, err = s.script(name); err != nil {
			return err
		}
	}
	if err := nfpm.PrepareForPackager(nfpm.WithDefaults(info), format); err != nil {
		return fmt.Errorf("prepare the package: %w", err)
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return fmt.Errorf("find the format: %w", err)
	}
	to, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	if err := packager.Package(info, to); err != nil {
		to.Close() // the package did not come to be
		os.Remove(file)
		if signing := new(nfpm.ErrSigningFailure); errors.As(err, &signing) {
			return fmt.Errorf("sign the package by %s: %w: name a file of `gpg --export-secret-keys KEY`, and set %s if it has a password", r.gpgKey, err, gpgPasswordVariable)
		}
		return fmt.Errorf("write the package: %w", err)
	}
	if err := to.Close(); err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	return nil
}
