package tasks

import "github.com/netwright/netwright/pkg/host/watch"

// Each kind has a constant here, a row in [kinds], and a method row below.
const (
	rowDirectory row = iota
	rowFile
	rowSymbolicLink
	rowArchive
	rowCertificateSet
	rowUnit
	rowDropIn
	rowTOMLKey
	rowSysctl
	rowModule
	rowMount
	rowUnitState
	rowLink
	rowAddress
	rowRoute
	rowRule
	rowTable
	rowForwardAccept
	rowEffect

	rowAwait
	rowWaitConf
	rowSourceDestCheck
	rowCleanup
	rowEvict
	rowPause
	rowResume
	rowRemoval
	rowRestoration

	rows // the number of rows
)

// Kind is a row of the table: what other code than the kind's own file knows of it.
//
// Rows are written without field names, so that a row with a missing column does not compile.
type Kind struct {
	row  row
	name string // in ledgers and revisions, whose bytes do not change; of a kind that is recorded
	form form   // how the ledger keeps it
	// proof proves a change harmless; what it cannot prove is made under a checkpoint.
	proof proof
	keys  *KeyKind // of the keys that it owns; nil: it works on keys of other tasks
}

// KeyKind is the row of a kind of keys. Several kinds of task may own one kind of keys: all tasks
// that own paths share [paths].
type KeyKind struct {
	name    string                                    // the part of a key before the colon
	disk    disk                                      // where the key is on disk
	lasts   lasts                                     // whether it stays over a boot
	watch   watchSource                               // which source reports its changes
	removal removal                                   // the order of its removal
	costs   costs                                     // what its removal or restoration may interrupt
	undo    func(t Task, name string, before *Before) // adds what an undo needs to restore it
	drift   drift                                     // whether spec.drift may name it
	command func(name string) string                  // the key as a command line names it
}

// kinds is the table of kinds. A kind is its file, its test and its row: see docs/development.md.
//
//	row, name, form, proof, keys: name,
//		disk, lasts, watch, removal,
//		costs, undo, drift, command
var kinds = [...]Kind{
	{rowDirectory, "directory", recorded[Directory](nil, nil), proves(dirHarmless), &paths},
	{rowFile, "file", fileForm, proves(fileHarmless), &paths},
	{rowSymbolicLink, "symlink", recorded[SymbolicLink](nil, nil), harmlessPaths, &paths},
	{rowArchive, KindArchive, recorded[Archive](withoutFetcher, nil), harmlessPaths, &paths},
	{rowCertificateSet, KindCertificates, recorded[CertificateSet](withoutIssued, nil), harmlessPaths,
		&paths},
	{rowUnit, "unit", recorded[Unit](nil, nil), never, &paths},
	{rowDropIn, "drop-in", recorded[DropIn](nil, nil), proves(dropInHarmless), &paths},
	{rowTOMLKey, "toml", recorded[TOMLKey](nil, normalizeValue), proves(tomlHarmless), &KeyKind{KindTOML,
		tomlFile, outlivesBoot, watched(watch.Files, watchTOML), anyOrder,
		costless, undoTOML, allModes, beforeHash}},
	{rowSysctl, "sysctl", recorded[Sysctl](nil, nil), proves(sysctlKindHarmless), &KeyKind{KindSysctl,
		notOnDisk, goneAfterBoot, watchSource{watchSysctl, sysctlNotifies}, anyOrder,
		costs{sysctlBack, ClassLive}, undoSysctl, allModes, byName}},
	{rowModule, "module", recorded[Module](nil, nil), proves(moduleKindHarmless), &KeyKind{KindModule,
		notOnDisk, goneAfterBoot, watched(watch.Modules, watchModule), untilBoot,
		costless, undoNone, allModes, byName}},
	{rowMount, "mount", recorded[Mount](nil, nil), proves(mountHarmless), &KeyKind{KindMount,
		unitLinks, goneAfterBoot, watched(watch.Mounts, watchMount), unmounted,
		costless, undoMount, allModes, byName}},
	{rowUnitState, "unit-state", recorded[UnitState](nil, nil), never, &KeyKind{KindUnit,
		unitLinks, unitLasts, watched(watch.Units, watchUnit), anyOrder,
		costs{unitBack, ClassLive}, undoUnit, allModes, byName}},
	{rowLink, "link", recorded[Link](nil, nil), proves(linkHarmless), &KeyKind{KindLink,
		notOnDisk, goneAfterBoot, watched(watch.Links, watchLink), afterPods,
		costs{linkBack, ClassDrain}, undoLink, allModes, linkCommand}},
	{rowAddress, "address", recorded[Address](nil, nil), proves(addressHarmless), &KeyKind{KindAddr,
		notOnDisk, goneAfterBoot, watched(watch.Links, of(watchAddress)), afterPods,
		costs{cutsOff, ClassDrain}, undoAddress, allModes, addressCommand}},
	{rowRoute, "route", recorded[Route](nil, nil), proves(routeHarmless), &KeyKind{KindRoute,
		notOnDisk, goneAfterBoot, watched(watch.Links, of(watchRoute)), afterPods,
		costs{cutsOff, ClassLive}, undoNetwork, allModes, routeCommand}},
	{rowRule, "rule", recorded[Rule](nil, nil), never, &KeyKind{KindRule,
		notOnDisk, goneAfterBoot, watched(watch.Links, of(watchRule)), afterPods,
		costs{cutsOff, ClassLive}, undoNetwork, allModes, byName}},
	{rowTable, "nft", recorded[Table](nil, nil), proves(tableHarmless), &KeyKind{KindTable,
		notOnDisk, goneAfterBoot, watched(watch.NFT, of(watchTable)), afterPods,
		costs{cutsOff, ClassLive}, undoTable, allModes, tableCommand}},
	{rowForwardAccept, "forward", recorded[ForwardAccept](nil, nil), always, &KeyKind{KindForward,
		notOnDisk, goneAfterBoot, watchSource{watchForward, forwardNotifies}, afterPods,
		costless, undoForward, allModes, byName}},
	{rowEffect, "effect", recorded[Effect](nil, nil), proves(effectHarmless), &KeyKind{KindEffect,
		notOnDisk, goneAfterBoot, unwatched, anyOrder,
		costless, undoEffect, noModes, byName}},

	// These are not recorded: they only wait, or their work ends with the pass.
	{rowAwait, "await", unrecorded, always, only(KindAwait, unwatched, anyOrder)},
	{rowWaitConf, "conf", unrecorded, always, only(KindConf, watched(watch.Files, of(watchConf)), afterPods)},
	{rowSourceDestCheck, "source-dest-check", unrecorded, always, only(KindSourceDest, unwatched, anyOrder)},
	{rowCleanup, "cleanup", unrecorded, never, only(KindCleanup, unwatched, anyOrder)},
	{rowEvict, "evict", unrecorded, never, only(KindEvict, unwatched, anyOrder)},
	{rowPause, "pause", unrecorded, never, only(KindPause, unwatched, anyOrder)},
	{rowResume, "resume", unrecorded, never, only(KindResume, unwatched, anyOrder)},
	{rowRemoval, "removal", unrecorded, proves(removalHarmless), nil},
	{rowRestoration, "restoration", unrecorded, never, nil},
}

// This does not compile if a kind has no row, or a row no constant.
var _ *[rows]Kind = &kinds

// paths is the row of the keys of files, directories, symlinks and members: one path has one owner.
var paths = KeyKind{KindFile,
	onPath, pathLasts, watched(watch.Files, watchPath), belowFirst, costs{pathBack, ClassLive}, undoPath, allModes,
	byName}

func (Directory) row() row       { return rowDirectory }
func (File) row() row            { return rowFile }
func (SymbolicLink) row() row    { return rowSymbolicLink }
func (Archive) row() row         { return rowArchive }
func (CertificateSet) row() row  { return rowCertificateSet }
func (Unit) row() row            { return rowUnit }
func (DropIn) row() row          { return rowDropIn }
func (TOMLKey) row() row         { return rowTOMLKey }
func (Sysctl) row() row          { return rowSysctl }
func (Module) row() row          { return rowModule }
func (Mount) row() row           { return rowMount }
func (UnitState) row() row       { return rowUnitState }
func (Link) row() row            { return rowLink }
func (Address) row() row         { return rowAddress }
func (Route) row() row           { return rowRoute }
func (Rule) row() row            { return rowRule }
func (Table) row() row           { return rowTable }
func (ForwardAccept) row() row   { return rowForwardAccept }
func (Effect) row() row          { return rowEffect }
func (Await) row() row           { return rowAwait }
func (WaitConf) row() row        { return rowWaitConf }
func (SourceDestCheck) row() row { return rowSourceDestCheck }
func (Cleanup) row() row         { return rowCleanup }
func (Evict) row() row           { return rowEvict }
func (Pause) row() row           { return rowPause }
func (Resume) row() row          { return rowResume }
func (Removal) row() row         { return rowRemoval }
func (Restoration) row() row     { return rowRestoration }
