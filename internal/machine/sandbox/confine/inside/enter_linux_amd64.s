#include "textflag.h"

// func start(r *run) (pid uintptr)
//
// The child shares lathe's memory and its stack pointer, so it uses no stack: everything is in registers, and signals are blocked.
// Offsets of run: ops 0, flags 8, failed 16, errno 24. Offsets of op: nr 0, args 8, deref 56, store 64, next 72, on 80.
TEXT ·start(SB),NOSPLIT,$0-16
	MOVQ	r+0(FP), BX
	MOVQ	8(BX), DI
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	MOVQ	$56, AX // clone
	SYSCALL
	TESTQ	AX, AX
	JEQ	child
	MOVQ	AX, pid+8(FP)
	RET
child:
	MOVQ	0(BX), R12
loop:
	MOVQ	56(R12), R13
	MOVQ	8(R12), DI
	BTQ	$0, R13
	JCC	arg1
	MOVQ	(DI), DI
arg1:
	MOVQ	16(R12), SI
	BTQ	$1, R13
	JCC	arg2
	MOVQ	(SI), SI
arg2:
	MOVQ	24(R12), DX
	BTQ	$2, R13
	JCC	arg3
	MOVQ	(DX), DX
arg3:
	MOVQ	32(R12), R10
	BTQ	$3, R13
	JCC	arg4
	MOVQ	(R10), R10
arg4:
	MOVQ	40(R12), R8
	MOVQ	48(R12), R9
	MOVQ	0(R12), AX
	SYSCALL
	CMPQ	AX, $0xfffffffffffff001
	JCC	failed
	MOVQ	64(R12), R13
	TESTQ	R13, R13
	JEQ	next
	MOVQ	AX, (R13)
next:
	ADDQ	72(R12), R12
	JMP	loop
failed:
	NEGQ	AX
	CMPQ	AX, 80(R12)
	JEQ	first
	CMPQ	AX, 96(R12)
	JEQ	second
	CMPQ	80(R12), $-1
	JEQ	first
	MOVQ	R12, 16(BX)
	MOVQ	AX, 24(BX)
exit:
	MOVQ	$99, DI
	MOVQ	$231, AX // exit_group
	SYSCALL
	JMP	exit
first:
	ADDQ	88(R12), R12
	JMP	loop
second:
	ADDQ	104(R12), R12
	JMP	loop

// func initCode() *[initSize]byte
TEXT ·initCode(SB),NOSPLIT,$0-8
	LEAQ	·initProgram(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// initProgram is the first process in the sandbox, a program of its own: see initFile. It is entered by the kernel, with argc, argv and
// envp on the stack: its name, its kind ("i": stay as init, "l": as that, while any process is left, "d": become the command), the command's file, the command's arguments.
// Its messages to lathe are a letter and two numbers of four bytes, built where argc was.
TEXT ·initProgram(SB),NOSPLIT|NOFRAME,$0
	MOVQ	SP, BX
	MOVQ	0(BX), R12
	LEAQ	32(BX), R13 // the command's arguments
	LEAQ	16(BX)(R12*8), R15 // its environment
	MOVQ	24(BX), R12 // its file
	MOVQ	$3, DI // the command does not get the socket to lathe
	MOVQ	$2, SI // F_SETFD
	MOVQ	$1, DX // FD_CLOEXEC
	MOVQ	$72, AX // fcntl
	SYSCALL
	MOVQ	$5, DI // nor its file, which may be open there
	MOVQ	$72, AX
	SYSCALL
	MOVQ	16(BX), AX
	MOVBLZX	(AX), AX
	MOVQ	AX, 24(BX)
	CMPL	AX, $'d'
	JEQ	direct
	MOVQ	$4, DI // PR_SET_DUMPABLE: nobody inside may read or write this process
	XORQ	SI, SI
	MOVQ	$157, AX // prctl
	SYSCALL
	TESTQ	AX, AX
	JNE	broken
	MOVQ	$0, 8(BX)
	XORQ	R14, R14
	MOVQ	$0x4111, DI // CLONE_VM|CLONE_VFORK|SIGCHLD
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	MOVQ	$56, AX // clone
	SYSCALL
	TESTQ	AX, AX
	JEQ	command
	JLT	unforked
	MOVQ	AX, R14
	MOVQ	8(BX), AX // the child's error
	TESTQ	AX, AX
	JNE	unstarted
	MOVB	$'S', 0(BX)
	MOVL	R14, 1(BX)
	MOVL	$0, 5(BX)
	MOVQ	$3, DI
	MOVQ	BX, SI
	MOVQ	$9, DX
	MOVQ	$1, AX // write
	SYSCALL
	MOVQ	$0, DI // so that the output ends with the processes that write it
	MOVQ	$3, AX // close
	SYSCALL
	MOVQ	$1, DI
	MOVQ	$3, AX
	SYSCALL
	MOVQ	$2, DI
	MOVQ	$3, AX
	SYSCALL
wait:
	MOVQ	$-1, DI
	LEAQ	16(BX), SI
	XORQ	DX, DX
	XORQ	R10, R10
	MOVQ	$61, AX // wait4
	SYSCALL
	CMPQ	AX, R14
	JEQ	ended
	TESTQ	AX, AX
	JGT	wait
	CMPQ	AX, $-4 // EINTR
	JEQ	wait
	JMP	broken
ended:
	MOVL	16(BX), R12 // its status
	XORQ	R13, R13 // processes left
reap:
	MOVQ	$-1, DI
	XORQ	SI, SI
	MOVQ	$1, DX // WNOHANG
	XORQ	R10, R10
	MOVQ	$61, AX // wait4
	SYSCALL
	TESTQ	AX, AX
	JGT	reap
	JLT	report // ECHILD
	CMPQ	24(BX), $'l'
	JEQ	stay
	MOVQ	$-1, DI
	MOVQ	$9, SI
	MOVQ	$62, AX // kill
	SYSCALL
count:
	MOVQ	$-1, DI
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	MOVQ	$61, AX // wait4
	SYSCALL
	CMPQ	AX, $-4 // EINTR
	JEQ	count
	TESTQ	AX, AX
	JLT	report
	INCQ	R13
	JMP	count
report:
	MOVB	$'X', 0(BX)
	MOVL	R12, 1(BX)
	MOVL	R13, 5(BX)
	MOVQ	$3, DI
	MOVQ	BX, SI
	MOVQ	$9, DX
	MOVQ	$1, AX // write
	SYSCALL
	XORQ	DI, DI
	JMP	exit
stay:
	MOVB	$'X', 0(BX)
	MOVL	R12, 1(BX)
	MOVL	$1, 5(BX)
	MOVQ	$3, DI
	MOVQ	BX, SI
	MOVQ	$9, DX
	MOVQ	$1, AX // write
	SYSCALL
rest:
	MOVQ	$-1, DI
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	MOVQ	$61, AX // wait4
	SYSCALL
	CMPQ	AX, $-4 // EINTR
	JEQ	rest
	TESTQ	AX, AX
	JGT	rest
	XORQ	DI, DI
	JMP	exit
direct:
	MOVB	$'S', 0(BX)
	MOVQ	$0, 1(BX)
	MOVQ	$3, DI
	MOVQ	BX, SI
	MOVQ	$9, DX
	MOVQ	$1, AX // write
	SYSCALL
	MOVQ	$1, R14
	JMP	exec
command:
	MOVQ	$112, AX // setsid
	SYSCALL
exec:
	MOVQ	$0, 16(BX) // no signal is blocked
	MOVQ	$2, DI // SIG_SETMASK
	LEAQ	16(BX), SI
	XORQ	DX, DX
	MOVQ	$8, R10
	MOVQ	$14, AX // rt_sigprocmask
	SYSCALL
	MOVQ	R12, DI
	MOVQ	R13, SI
	MOVQ	R15, DX
	MOVQ	$59, AX // execve
	SYSCALL
	NEGQ	AX
	MOVQ	AX, 8(BX) // for the parent, whose memory this is
	TESTQ	R14, R14
	JEQ	broken
	JMP	unstarted
unforked:
	NEGQ	AX
unstarted:
	MOVB	$'E', 0(BX)
	MOVL	AX, 1(BX)
	MOVL	$0, 5(BX)
	MOVQ	$3, DI
	MOVQ	BX, SI
	MOVQ	$9, DX
	MOVQ	$1, AX // write
	SYSCALL
broken:
	MOVQ	$99, DI
exit:
	MOVQ	$231, AX // exit_group
	SYSCALL
	JMP	exit
