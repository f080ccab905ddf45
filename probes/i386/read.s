# Prints "ready PID", then read(0, buffer, 64), by int $0x80: a 32-bit task, whose numbers in
# /proc/PID/syscall are those of another table (3 is read here, close in 64-bit code).
# One line fed, or end of file, and it ends.

        .set    SYS_exit, 1
        .set    SYS_read, 3
        .set    SYS_write, 4
        .set    SYS_getpid, 20

        .bss
buffer: .skip   64

        .text
        .globl  _start
_start:
        movl    $SYS_getpid, %eax
        int     $0x80

        # The digits are written from the line's end to its beginning.
        movl    $buffer + 63, %edi
        movb    $'\n', (%edi)
        movl    $10, %ebx
digit:
        xorl    %edx, %edx
        divl    %ebx
        addb    $'0', %dl
        decl    %edi
        movb    %dl, (%edi)
        testl   %eax, %eax
        jnz     digit

        movl    $'r' | 'e' << 8 | 'a' << 16 | 'd' << 24, -6(%edi)
        movw    $'y' | ' ' << 8, -2(%edi)
        leal    -6(%edi), %ecx
        movl    $buffer + 64, %edx
        subl    %ecx, %edx
        movl    $1, %ebx
        movl    $SYS_write, %eax
        int     $0x80

        xorl    %ebx, %ebx
        movl    $buffer, %ecx
        movl    $64, %edx
        movl    $SYS_read, %eax
        int     $0x80

        xorl    %ebx, %ebx
        movl    $SYS_exit, %eax
        int     $0x80
