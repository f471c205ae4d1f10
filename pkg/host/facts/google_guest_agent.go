package facts

import "strings"

// GuestConfig is the file in which the agent tells Google's guest agent what to leave alone. The
// file of the node's owner has the same name without ".template", and overrides it
// (defaultDataSources).
// https://github.com/GoogleCloudPlatform/guest-agent/blob/main/google_guest_agent/cfg/cfg.go
const GuestConfig = "/etc/default/instance_configs.cfg.template"

// OwnFileMark begins the first line of every text file that the agent writes.
const OwnFileMark = "# Written by Netwright"

// Setting is a value in a file.
type Setting struct {
	Value string `json:"value"` // "": the file does not set it
	File  string `json:"file"`
}

// guestAliases returns the setting for alias addresses in files of others for Google's guest agent.
// It is nil if no such file sets it; then the agent may.
func (g gatherer) guestAliases() *Setting {
	owner := strings.TrimSuffix(GuestConfig, ".template")
	if value := g.guestSetting(owner); value != "" {
		return &Setting{Value: value, File: owner}
	}
	if raw, err := g.files.ReadFile(GuestConfig); err == nil && !strings.HasPrefix(string(raw), OwnFileMark) {
		return &Setting{Value: g.guestSetting(GuestConfig), File: GuestConfig}
	}
	return nil
}

// guestSetting returns ip_aliases in the section IpForwarding of a file, in lower case, as the
// guest agent reads it.
func (g gatherer) guestSetting(file string) string {
	raw, err := g.files.ReadFile(file)
	if err != nil {
		return ""
	}
	section, value := "", ""
	for line := range strings.Lines(strings.ToLower(string(raw))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
		}
		if name, v, ok := strings.Cut(line, "="); ok && section == "ipforwarding" &&
			strings.TrimSpace(name) == "ip_aliases" {
			value = strings.TrimSpace(v)
		}
	}
	return value
}
