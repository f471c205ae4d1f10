package bench

import (
	"fmt"
	"path"
	"strings"
)

// policy returns the job for CFEngine 3.21, as its users would write it. With verify it compares
// the digests of the plugins; otherwise they must only exist with their mode. With bulk a copy of a
// directory keeps the small files, as users do for many files; otherwise each has a promise.
func (j job) policy(verify, bulk bool) string {
	var out strings.Builder
	out.WriteString(`body common control { bundlesequence => { "main" }; version => "1"; }
body agent control { ifelapsed => "0"; }
body perms root(m) { mode => "$(m)"; owners => { "root" }; groups => { "root" }; }
body edit_defaults plain { edit_backup => "false"; }
body copy_from tree(from) { source => "$(from)"; compare => "digest"; copy_backup => "false"; }
body depth_search all { depth => "inf"; }
body classes then(c) { promise_repaired => { "$(c)" }; }
bundle agent main
{
  classes:
`)
	var wrong, plugins []string
	for _, s := range j.sysctls {
		file := "/proc/sys/" + strings.ReplaceAll(s.key, ".", "/")
		wrong = append(wrong, fmt.Sprintf(`not(strcmp(regex_replace(readfile("%s", "200"), "\s+", " ", "g"), "%s "))`, file, s.value))
	}
	for _, m := range j.archive.Members {
		test := fmt.Sprintf(`fileexists("%s/%s")`, binDir, m.Name)
		if verify {
			test = fmt.Sprintf(`strcmp(file_hash("%s/%s", "sha256"), "%s")`, binDir, m.Name, m.Sum)
		}
		plugins = append(plugins, test)
	}
	fmt.Fprintf(&out, "    \"sysctls_wrong\" or => {\n      %s };\n", strings.Join(wrong, ",\n      "))
	fmt.Fprintf(&out, "    \"plugins_right\" and => {\n      %s };\n", strings.Join(plugins, ",\n      "))
	right := `"any"`
	if j.unit != "" {
		right = fmt.Sprintf(`returnszero("/usr/bin/systemctl -q is-active %[1]s", "noshell"), returnszero("/usr/bin/systemctl -q is-enabled %[1]s", "noshell")`, j.unit)
	}
	fmt.Fprintf(&out, "    \"unit_right\" and => { %s };\n  files:\n", right)
	fmt.Fprintf(&out, "    \"%s/.\" create => \"true\";\n", binDir)
	for _, f := range j.files {
		if bulk && path.Dir(f.path) == smallDir {
			continue
		}
		then := ""
		switch {
		case strings.HasPrefix(f.path, "/etc/systemd/"):
			then = `, classes => then("units_changed")`
		case strings.HasPrefix(f.path, "/etc/sysctl.d/"):
			then = `, classes => then("sysctls_wrong")`
		}
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(f.content)
		fmt.Fprintf(&out, "    \"%s\" create => \"true\", content => '%s', perms => root(\"%04o\"), edit_defaults => plain%s;\n", f.path, quoted, f.mode, then)
	}
	if bulk {
		fmt.Fprintf(&out, "    \"%s\" copy_from => tree(\"%s\"), depth_search => all, perms => root(\"0644\");\n", smallDir, home+smallDir)
	}
	fmt.Fprintf(&out, `    plugins_right::
      "%[1]s/.*" perms => root("0755");
  commands:
    !plugins_right:: "%[2]s/fetch.sh";
    sysctls_wrong:: "/sbin/sysctl -q -p /etc/sysctl.d/99-k8s.conf";
    units_changed:: "/usr/bin/systemctl daemon-reload";
    !unit_right:: "/usr/bin/systemctl -q enable --now %[3]s";
}
`, binDir, home, j.unit)
	return out.String()
}

// fetchScript returns a script that downloads, checks and unpacks the archive, for peers that
// cannot do so themselves.
func (j job) fetchScript() string {
	return fmt.Sprintf(`#!/bin/sh
set -e
temporary=$(mktemp -d /var/tmp/plugins.XXXXXX)
curl -sSf -o $temporary/archive.tgz %[1]s
echo "%[2]s  $temporary/archive.tgz" | sha256sum -c --status
mkdir -p %[3]s
tar -xzf $temporary/archive.tgz -C %[3]s --no-same-owner
chmod 0755 %[3]s/*
rm -rf $temporary
`, j.url(), j.archive.Sum, binDir)
}
