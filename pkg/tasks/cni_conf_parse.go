package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/containernetworking/cni/libcni"
)

// parseConf parses a conf with libcni. It reports the most common mistakes itself, with what to do.
func parseConf(data []byte, isList bool) (*libcni.NetworkConfigList, error) {
	if err := slip(data, isList); err != nil {
		return nil, err
	}
	if isList {
		list, err := libcni.NetworkConfFromBytes(data)
		return list, refusal(err)
	}
	one, err := parsePlugin(data)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 runtimes read a file of one plugin by it
	list, err := libcni.ConfListFromConf(one)
	return list, refusal(err)
}

func parsePlugin(data []byte) (*libcni.PluginConfig, error) {
	if err := slip(data, false); err != nil {
		return nil, err
	}
	one, err := libcni.NetworkPluginConfFromBytes(data)
	return one, refusal(err)
}

// refusal wraps an error that libcni returns for a conf that is valid JSON.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("libcni refuses it: %w", err)
}

// slip returns what is wrong with a text that is no conf, or that is the other kind of conf.
func slip(data []byte, isList bool) error {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("it is empty")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return errors.New("it begins with a byte order mark, which JSON has not: save it without")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return errors.New("it is UTF-16, and JSON is UTF-8: save it as UTF-8")
	}
	var any json.RawMessage
	if err := json.Unmarshal(data, &any); err != nil {
		return fmt.Errorf("parse it: %s%w", position(data, err), err)
	}
	var shape struct{ Name, Type, Plugins json.RawMessage }
	if json.Unmarshal(data, &shape) != nil || string(any) == "null" {
		return errors.New("it is JSON, and no object: expected { first and } last")
	}
	switch {
	case !isList && shape.Type == nil && shape.Plugins != nil:
		return errors.New("it is a list (`plugins`) in a file for a single plugin: name it .conflist")
	case !isList && shape.Type == nil:
		return errors.New("it has no `type`")
	case isList && shape.Type != nil && shape.Plugins == nil:
		return errors.New("it is a single plugin (`type`) in a file for lists: name it .conf, or put it into a list " +
			"`plugins`")
	case isList && shape.Name == nil:
		return errors.New("it has no `name`")
	case isList && shape.Plugins != nil:
		return slipOfPlugins(shape.Plugins)
	}
	return nil
}

func slipOfPlugins(list json.RawMessage) error {
	var plugins []struct{ Type json.RawMessage }
	if err := json.Unmarshal(list, &plugins); err != nil {
		return errors.New("its `plugins` is no list of objects: expected [{\"type\": …}, …]")
	}
	if len(plugins) == 0 {
		return errors.New("its `plugins` is empty")
	}
	for i, p := range plugins {
		if p.Type == nil {
			return fmt.Errorf("its plugin %d has no `type`", i+1)
		}
	}
	return nil
}

// position returns the line and column of a JSON syntax error.
func position(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	before := string(data[:min(max(int(syntax.Offset)-1, 0), len(data))])
	return fmt.Sprintf("line %d, column %d: ", strings.Count(before, "\n")+1,
		len(before)-strings.LastIndex(before, "\n"))
}

// firstVersion returns the version that a consumer before spec 1.1.0 reads.
func firstVersion(data []byte) (string, error) {
	var conf struct {
		CNIVersion string `json:"cniVersion"`
	}
	if err := json.Unmarshal(data, &conf); err != nil {
		return "", fmt.Errorf("read its cniVersion: %w", err)
	}
	return conf.CNIVersion, nil
}
