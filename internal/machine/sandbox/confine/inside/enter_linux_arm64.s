#include "textflag.h"

// func start(r *run) (pid uintptr)
//
// As on amd64: the child uses registers only.
TEXT ·start(SB),NOSPLIT,$0-16
	MOVD	r+0(FP), R19
	MOVD	8(R19), R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8 // clone
	SVC
	CBZ	R0, child
	MOVD	R0, pid+8(FP)
	RET
child:
	MOVD	0(R19), R20
loop:
	MOVD	56(R20), R21
	MOVD	8(R20), R0
	TBZ	$0, R21, arg1
	MOVD	(R0), R0
arg1:
	MOVD	16(R20), R1
	TBZ	$1, R21, arg2
	MOVD	(R1), R1
arg2:
	MOVD	24(R20), R2
	TBZ	$2, R21, arg3
	MOVD	(R2), R2
arg3:
	MOVD	32(R20), R3
	TBZ	$3, R21, arg4
	MOVD	(R3), R3
arg4:
	MOVD	40(R20), R4
	MOVD	48(R20), R5
	MOVD	0(R20), R8
	SVC
	CMN	$4095, R0
	BCS	failed
	MOVD	64(R20), R21
	CBZ	R21, next
	MOVD	R0, (R21)
next:
	MOVD	72(R20), R21
	ADD	R21, R20
	JMP	loop
failed:
	NEG	R0, R0
	MOVD	80(R20), R21
	MOVD	96(R20), R22
	CMP	R21, R0
	BEQ	first
	CMP	R22, R0
	BEQ	second
	CMN	$1, R21
	BEQ	first
	MOVD	R20, 16(R19)
	MOVD	R0, 24(R19)
exit:
	MOVD	$99, R0
	MOVD	$94, R8 // exit_group
	SVC
	JMP	exit
first:
	MOVD	88(R20), R21
	ADD	R21, R20
	JMP	loop
second:
	MOVD	104(R20), R21
	ADD	R21, R20
	JMP	loop

// func initCode() *[initSize]byte
TEXT ·initCode(SB),NOSPLIT,$0-8
	MOVD	$·initProgram(SB), R0
	MOVD	R0, ret+0(FP)
	RET

// initProgram is the first process in the sandbox: see the one for amd64.
TEXT ·initProgram(SB),NOSPLIT|NOFRAME,$0
	MOVD	RSP, R19
	MOVD	0(R19), R20
	ADD	$32, R19, R21 // the command's arguments
	LSL	$3, R20, R20
	ADD	R19, R20, R22
	ADD	$16, R22, R22 // its environment
	MOVD	24(R19), R23 // its file
	MOVD	$3, R0 // the command does not get the socket to lathe
	MOVD	$2, R1 // F_SETFD
	MOVD	$1, R2 // FD_CLOEXEC
	MOVD	$25, R8 // fcntl
	SVC
	MOVD	$5, R0 // nor its file, which may be open there
	MOVD	$2, R1
	MOVD	$1, R2
	MOVD	$25, R8
	SVC
	MOVD	16(R19), R0
	MOVBU	(R0), R0
	MOVD	R0, 24(R19)
	CMP	$0x64, R0 // 'd'
	BEQ	direct
	MOVD	$4, R0 // PR_SET_DUMPABLE
	MOVD	ZR, R1
	MOVD	$167, R8 // prctl
	SVC
	CBNZ	R0, broken
	MOVD	ZR, 8(R19)
	MOVD	ZR, R24
	MOVD	$0x4111, R0 // CLONE_VM|CLONE_VFORK|SIGCHLD
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8 // clone
	SVC
	CBZ	R0, command
	CMP	$0, R0
	BLT	unforked
	MOVD	R0, R24
	MOVD	8(R19), R0 // the child's error
	CBNZ	R0, unstarted
	MOVD	$0x53, R1 // 'S'
	MOVB	R1, 0(R19)
	MOVW	R24, 1(R19)
	MOVW	ZR, 5(R19)
	MOVD	$3, R0
	MOVD	R19, R1
	MOVD	$9, R2
	MOVD	$64, R8 // write
	SVC
	MOVD	$0, R0 // so that the output ends with the processes that write it
	MOVD	$57, R8 // close
	SVC
	MOVD	$1, R0
	MOVD	$57, R8
	SVC
	MOVD	$2, R0
	MOVD	$57, R8
	SVC
wait:
	MOVD	$-1, R0
	ADD	$16, R19, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	$260, R8 // wait4
	SVC
	CMP	R24, R0
	BEQ	ended
	CMP	$0, R0
	BGT	wait
	CMN	$4, R0 // EINTR
	BEQ	wait
	JMP	broken
ended:
	MOVWU	16(R19), R20 // its status
	MOVD	ZR, R21 // processes left
reap:
	MOVD	$-1, R0
	MOVD	ZR, R1
	MOVD	$1, R2 // WNOHANG
	MOVD	ZR, R3
	MOVD	$260, R8 // wait4
	SVC
	CMP	$0, R0
	BGT	reap
	BLT	report // ECHILD
	MOVD	24(R19), R0
	CMP	$0x6c, R0 // 'l'
	BEQ	stay
	MOVD	$-1, R0
	MOVD	$9, R1
	MOVD	$129, R8 // kill
	SVC
count:
	MOVD	$-1, R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	$260, R8 // wait4
	SVC
	CMN	$4, R0 // EINTR
	BEQ	count
	CMP	$0, R0
	BLT	report
	ADD	$1, R21
	JMP	count
report:
	MOVD	$0x58, R1 // 'X'
	MOVB	R1, 0(R19)
	MOVW	R20, 1(R19)
	MOVW	R21, 5(R19)
	MOVD	$3, R0
	MOVD	R19, R1
	MOVD	$9, R2
	MOVD	$64, R8 // write
	SVC
	MOVD	ZR, R0
	JMP	exit
stay:
	MOVD	$0x58, R1 // 'X'
	MOVB	R1, 0(R19)
	MOVW	R20, 1(R19)
	MOVD	$1, R1
	MOVW	R1, 5(R19)
	MOVD	$3, R0
	MOVD	R19, R1
	MOVD	$9, R2
	MOVD	$64, R8 // write
	SVC
rest:
	MOVD	$-1, R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	$260, R8 // wait4
	SVC
	CMN	$4, R0 // EINTR
	BEQ	rest
	CMP	$0, R0
	BGT	rest
	MOVD	ZR, R0
	JMP	exit
direct:
	MOVD	$0x53, R1 // 'S'
	MOVB	R1, 0(R19)
	MOVD	ZR, 1(R19)
	MOVD	$3, R0
	MOVD	R19, R1
	MOVD	$9, R2
	MOVD	$64, R8 // write
	SVC
	MOVD	$1, R24
	JMP	exec
command:
	MOVD	$157, R8 // setsid
	SVC
exec:
	MOVD	ZR, 16(R19) // no signal is blocked
	MOVD	$2, R0 // SIG_SETMASK
	ADD	$16, R19, R1
	MOVD	ZR, R2
	MOVD	$8, R3
	MOVD	$135, R8 // rt_sigprocmask
	SVC
	MOVD	R23, R0
	MOVD	R21, R1
	MOVD	R22, R2
	MOVD	$221, R8 // execve
	SVC
	NEG	R0, R0
	MOVD	R0, 8(R19) // for the parent, whose memory this is
	CBZ	R24, broken
	JMP	unstarted
unforked:
	NEG	R0, R0
unstarted:
	MOVD	$0x45, R1 // 'E'
	MOVB	R1, 0(R19)
	MOVW	R0, 1(R19)
	MOVW	ZR, 5(R19)
	MOVD	$3, R0
	MOVD	R19, R1
	MOVD	$9, R2
	MOVD	$64, R8 // write
	SVC
broken:
	MOVD	$99, R0
exit:
	MOVD	$94, R8 // exit_group
	SVC
	JMP	exit
