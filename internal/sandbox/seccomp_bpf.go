package sandbox

import (
	"fmt"
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
)

const (
	errnoPerm  = 1  // EPERM
	errnoNoSys = 38 // ENOSYS, on every architecture we build for

	x32Bit = 0x40000000 // set in the number of an x32 call

	// struct seccomp_data, little endian: number, architecture, instruction
	// pointer, six arguments of 64 bits.
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// SeccompBPF assembles the list for a Go architecture (amd64, arm64). The
// program first kills the process when the call comes through another
// architecture's table, then answers ENOSYS to calls newer than the table it
// was built from, then applies the list.
//
// The blocks are made here and not by the filter library because its
// conditional blocks leave an argument in the accumulator when they do not
// match, where the next block takes it for the number of a call.
func SeccompBPF(goarch string) ([]bpf.RawInstruction, error) {
	info, err := archOf(goarch)
	if err != nil {
		return nil, err
	}
	program := prologue(info)
	for _, r := range conditional() {
		if number, ok := info.SyscallNames[r.call]; ok {
			program = append(program, conditionalBlock(uint32(number), r.any)...)
		}
	}
	program = append(program, runs(numbers(info, allowed()), ret(seccomp.ActionAllow, 0))...)
	program = append(program, runs(numbers(info, unknown()), ret(seccomp.ActionErrno, errnoNoSys))...)
	program = append(program, ret(seccomp.ActionErrno, errnoPerm))
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("sandbox: encode seccomp filter for %s: %w", goarch, err)
	}
	return raw, nil
}

func archOf(goarch string) (*arch.Info, error) {
	switch goarch {
	case "amd64":
		return arch.X86_64, nil
	case "arm64":
		return arch.AARCH64, nil
	}
	return nil, fmt.Errorf("sandbox: no seccomp filter for architecture %s", goarch)
}

func ret(action seccomp.Action, errno uint32) bpf.Instruction {
	return bpf.RetConstant{Val: uint32(action) | errno}
}

// prologue checks what the list itself cannot: the table a number belongs to.
// It leaves the number in the accumulator.
func prologue(info *arch.Info) []bpf.Instruction {
	newest := 0
	for number := range info.SyscallNumbers {
		newest = max(newest, number)
	}
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		ret(seccomp.ActionKillProcess, 0),
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1},
		ret(seccomp.ActionKillProcess, 0),
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(newest), SkipFalse: 1},
		ret(seccomp.ActionErrno, errnoNoSys),
	}
}

// conditionalBlock decides one call completely: allowed by the first
// alternative that holds, else denied. Other calls skip it.
func conditionalBlock(number uint32, alternatives [][]condition) []bpf.Instruction {
	var body []bpf.Instruction
	for _, conditions := range alternatives {
		body = append(body, alternativeBlock(conditions)...)
	}
	body = append(body, ret(seccomp.ActionErrno, errnoPerm))
	head := bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: uint8(len(body))}
	return append([]bpf.Instruction{head}, body...)
}

// alternativeBlock allows the call when all conditions hold and runs past its
// own end when one does not.
func alternativeBlock(conditions []condition) []bpf.Instruction {
	const perCondition = 4
	var out []bpf.Instruction
	end := len(conditions)*perCondition + 1
	for _, c := range conditions {
		low, high := uint32(offsetArgs+8*c.arg), uint32(offsetArgs+8*c.arg+4)
		out = append(out, bpf.LoadAbsolute{Off: high, Size: 4}, test(c, 32, end-len(out)-2))
		out = append(out, bpf.LoadAbsolute{Off: low, Size: 4}, test(c, 0, end-len(out)-2))
	}
	return append(out, ret(seccomp.ActionAllow, 0))
}

// test compares 32 bits of an argument and skips when the condition fails.
func test(c condition, shift uint, skip int) bpf.Instruction {
	if c.mask != 0 {
		return bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: uint32(c.mask >> shift), SkipTrue: uint8(skip)}
	}
	return bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(c.val >> shift), SkipFalse: uint8(skip)}
}

// numbers looks names up, sorted. A name that an architecture does not have
// (open on arm64) names nothing that could be called there.
func numbers(info *arch.Info, names []string) []uint32 {
	var out []uint32
	for _, name := range names {
		if number, ok := info.SyscallNames[name]; ok {
			out = append(out, uint32(number))
		}
	}
	slices.Sort(out)
	return out
}

// runs answers with then for each of the sorted numbers, one comparison pair
// for each run of consecutive ones.
func runs(sorted []uint32, then bpf.Instruction) []bpf.Instruction {
	var out []bpf.Instruction
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		out = append(out,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: sorted[i], SkipFalse: 2},
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: sorted[j], SkipTrue: 1},
			then)
		i = j + 1
	}
	return out
}
