// Package tomledit sets and removes one key in a TOML document of another program. Every other byte
// stays the same, also comments, order and line ends. If that is not possible, it returns an error
// that says which line to rewrite. Begin with [Setting].
package tomledit
