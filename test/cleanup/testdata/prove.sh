#!/bin/sh
# prove.sh NETWORK…: what each leaves is made, listed, taken away, and the host is as before. Those of PAIRS are looked for beside each.
# SCRIPTS is where the scripts are that make it, with decoys of their own; networks, where it is not said.
# With MODULES only what needs a module of the kernel, and the host is looked at after all: machines are slow.
set -u
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
pods=10.244.0.0/16
for s in host $([ -n "${MODULES-}" ] || echo ${SCRIPTS:+$SCRIPTS/}decoys) modules/decoys; do sh -eu ./$s.sh || { echo "FAIL $s"; exit 1; }; done
while ip -6 addr show | grep -q tentative; do sleep 0.1; done
sort_() { LC_ALL=C sort; }
sh ./state.sh | sort_ >/run/proof/before
sh ./state.sh | sort_ >/run/proof/again
diff /run/proof/before /run/proof/again >/run/proof/volatile || { echo "FAIL the host changes by itself"; cat /run/proof/volatile; exit 1; }
compare() { # with how it was
	sh ./state.sh | sort_ >/run/proof/after
	diff /run/proof/before /run/proof/after >/run/proof/diff || fail "the host is not as before" /run/proof/diff
	mv /run/proof/after /run/proof/before # what one leaves is not said again of the next
}
for n in "$@"; do
	fail() { echo "FAIL $n: $1"; shift; [ $# = 0 ] || cat "$@"; }
	cat ./prelude.sh ${PAIRS:+./pairs.sh} $([ -n "${MODULES-}" ] || echo "${SCRIPTS:-networks}/$n.sh") $([ ! -e "modules/$n.sh" ] || echo "modules/$n.sh") >/run/proof/script
	sh -eu /run/proof/script >/run/proof/made 2>/run/proof/errors || { fail "its script" /run/proof/errors; exit 1; }
	grep -v '^!' /run/proof/made | sort_ >/run/proof/want
	./clean -pods $pods "$n" 2>/run/proof/errors | sort_ >/run/proof/planned
	diff /run/proof/want /run/proof/planned >/run/proof/diff || fail "it lists other lines (< left, > listed)" /run/proof/diff /run/proof/errors
	# Beside it another network that shares names with it takes what it would, and nothing that is kept.
	for other in ${PAIRS-}; do
		[ "$other" != "$n" ] || continue
		./clean -pods $pods "$other" 2>/run/proof/errors | sort_ | uniq >/run/proof/other
		[ ! -s /run/proof/errors ] || fail "look for $other" /run/proof/errors
		[ -s /run/proof/other ] || continue
		sed "s/^/SHARED $n $other /" /run/proof/other
		./clean -pods $pods -keep "$(uniq /run/proof/planned | paste -sd,)" -apply "$other" >/run/proof/log 2>&1 || { tail -n 5 /run/proof/log >/run/proof/errors; fail "clean $other beside it" /run/proof/errors; }
		./clean -pods $pods "$n" 2>&1 | sort_ | diff /run/proof/planned - >/run/proof/diff || fail "clean of $other takes what is kept" /run/proof/diff
	done
	./clean -pods $pods -apply "$n" >/run/proof/log 2>&1 || { tail -n 5 /run/proof/log >/run/proof/errors; fail "clean" /run/proof/errors; }
	./clean -pods $pods "$n" >/run/proof/left 2>&1
	[ ! -s /run/proof/left ] || fail "left after it" /run/proof/left
	[ -n "${MODULES-}" ] || compare
	echo "LINES $n made $(grep -vc '^!' /run/proof/made) elsewhere $(grep -c '^!' /run/proof/made)"
	grep '^!' /run/proof/made | sed "s/^!/ELSEWHERE $n/"
done
[ -z "${MODULES-}" ] || compare
