package facts

import "strings"

// GuestConfig is the file by which netwright tells Google's guest agent what to leave alone; the
// node's owner has the one without the ending, which wins.
// https://github.com/GoogleCloudPlatform/guest-agent/blob/main/google_guest_agent/cfg/cfg.go
// (defaultDataSources)
const GuestConfig = "/etc/default/instance_configs.cfg.template"

// OwnFileMark begins the first line of every file of lines that is netwright's.
const OwnFileMark = "# Written by Netwright"

// Setting is a value in somebody's file.
type Setting struct {
	Value string `json:"value"` // "": the file does not say
	File  string `json:"file"`
}

// guestAliases is what files of others tell Google's guest agent of alias addresses, nil if none
// has a say: then ours may.
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

// guestSetting is ip_aliases in the section IpForwarding of a file, in lower case as the agent
// reads it.
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
