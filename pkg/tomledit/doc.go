// Package tomledit sets one key of a TOML document that is somebody else's, and takes it out again:
// every other byte stays, comments, order and line ends included. What cannot be changed so is an
// error that says which line to rewrite. Begin reading at [Setting].
package tomledit
