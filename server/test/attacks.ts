import type { Wall } from '../src/runtime/runtime.ts'

/** What a hostile bot tries. Its script ends with 0 if it got what it wanted. */
export interface Attack {
  readonly what: string
  /** Each of them alone is enough. */
  readonly stoppedBy: readonly Wall['name'][]
  readonly script: string
}

/** By their names, as the scripts find them in their environment. */
export interface Targets {
  /** A folder of ours: with a file `ours` and a socket `socket` that only we may open. */
  readonly DATA: string
  /** A folder of the host's that everybody may write to. */
  readonly OPEN: string
  /** A process of the host's, which runs a program that only it does: `sleep 98765`. */
  readonly VICTIM: string
  /** Another bot's folder with a file `secret`, and where it listens. Its variable TOKEN is `of-the-neighbour`. */
  readonly NEIGHBOUR: string
  readonly NEIGHBOUR_ADDRESS: string
  readonly NEIGHBOUR_PORT: string
  /** Of the host, as others see it, and a port that is open on all of its addresses. */
  readonly HOST: string
  readonly HOST_PORT: string
  /** An address at which bots may use that port. */
  readonly DOOR: string
  /** The name of a socket of the host's that is no file. */
  readonly ABSTRACT: string
  /** More than it may have. */
  readonly FORKS: string
  readonly MEGABYTES: string
  readonly DISK_MEGABYTES: string
}

// The numbers of the kernel's calls.
const [ptrace, addKey] = process.arch === 'arm64' ? [117, 217] : [101, 248]
const seize = 0x4206

/** All of them are bounded, so that a wall that fails costs a test and not the machine. */
export const attacks: readonly Attack[] = [
  {
    what: 'reads the files of another bot',
    stoppedBy: ['files', 'users'],
    script: 'cat "$NEIGHBOUR/secret"',
  },
  {
    what: 'reads the files of the server',
    stoppedBy: ['files', 'users'],
    script: 'cat "$DATA/ours"',
  },
  {
    what: 'talks to the database by its socket',
    stoppedBy: ['files', 'users'],
    script: 'perl connect.pl "$DATA/socket"',
  },
  {
    what: 'reads the variables of others',
    stoppedBy: ['files', 'users'],
    script: `cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -q '^TOKEN=of-the-neighbour'`,
  },
  {
    what: 'sees what others run',
    stoppedBy: ['files'],
    script: `cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q 'sleep [9]8765'`,
  },
  {
    what: 'writes outside of its folder',
    stoppedBy: ['files'],
    script: 'echo x >"$OPEN/$$"',
  },
  {
    what: 'writes over the programs of the system',
    stoppedBy: ['files', 'users'],
    script: 'test -w /usr/bin/env',
  },
  {
    what: 'traces a process of others',
    stoppedBy: ['files', 'users', 'calls'],
    script: `perl -e 'exit(syscall(${ptrace}, ${seize}, $ENV{VICTIM} + 0, 0, 0) != 0)'`,
  },
  {
    what: 'traces a process of its own',
    stoppedBy: ['calls'],
    script: `perl -e '
      my $child = fork // exit 1;
      sleep 5, exit if $child == 0;
      my $answer = syscall(${ptrace}, ${seize}, $child + 0, 0, 0);
      kill 9, $child;
      exit($answer != 0)'`,
  },
  {
    what: 'kills a process of others',
    stoppedBy: ['files', 'users'],
    script: 'kill -KILL "$VICTIM"',
  },
  {
    what: 'makes a namespace in which it is root',
    stoppedBy: ['files', 'calls'],
    script: 'unshare --user --map-root-user true',
  },
  {
    what: 'keeps something in the kernel that outlives it',
    stoppedBy: ['calls'],
    script: `perl -e 'exit(syscall(${addKey}, my $a = "user", my $b = "botberth", my $c = "x", 1, -2) < 0)'`,
  },
  {
    what: 'opens more files than the machine can spare',
    stoppedBy: ['users'],
    script: `perl -e 'for (1 .. 9000) { open($all[$_], "<", "/dev/null") || exit 1 }'`,
  },
  {
    what: 'reaches the loopback of the host',
    stoppedBy: ['network'],
    script: 'perl connect.pl 127.0.0.1 "$HOST_PORT"',
  },
  {
    what: 'reaches an address of the host',
    stoppedBy: ['network'],
    script: 'perl connect.pl "$HOST" "$HOST_PORT"',
  },
  {
    what: 'reaches a socket of the host that is no file',
    stoppedBy: ['network'],
    script: 'perl connect.pl "@$ABSTRACT"',
  },
  {
    what: 'reaches another bot',
    stoppedBy: ['network'],
    script: 'perl connect.pl "$NEIGHBOUR_ADDRESS" "$NEIGHBOUR_PORT"',
  },
  {
    what: 'makes thousands of connections at once',
    stoppedBy: ['network'],
    script: 'perl connect.pl "$DOOR" "$HOST_PORT" 3000',
  },
  {
    what: 'makes more processes than it may',
    stoppedBy: ['limits'],
    script: `perl -e '
      for (1 .. $ENV{FORKS}) {
        my $child = fork;
        if (!defined $child) { kill 9, @all; 1 while wait > 0; exit 1 }
        sleep 30, exit if $child == 0;
        push @all, $child;
      }
      kill 9, @all;
      1 while wait > 0'`,
  },
  {
    what: 'takes more memory than it may',
    stoppedBy: ['limits'],
    script: `perl -e 'my $all = "x" x ($ENV{MEGABYTES} * 1e6)'`,
  },
  {
    what: 'takes more of the disk than it may',
    stoppedBy: ['disk'],
    script: 'head -c "${DISK_MEGABYTES}MB" /dev/zero >large; code=$?; rm -f large; exit $code',
  },
]

/** What the scripts need beside them. */
export const attackFiles = {
  'connect.pl': `
use Socket;
my ($to, $port, $times) = @ARGV;
alarm 5;
for (1 .. $times || 1) {
  my $name = $to =~ s/^@/\\0/r;
  my $address = $port ? pack_sockaddr_in($port, inet_aton($to)) : pack_sockaddr_un($name);
  socket($all[$_], $port ? PF_INET : PF_UNIX, SOCK_STREAM, 0) && connect($all[$_], $address) || exit 1;
}
`,
  'neighbour.pl': `
use Socket;
$| = 1;
my $door;
socket($door, PF_INET, SOCK_STREAM, 0) && bind($door, pack_sockaddr_in(0, INADDR_ANY)) && listen($door, 5) || die;
my ($port) = unpack_sockaddr_in(getsockname($door));
my ($address) = \`ip -4 -o address show scope global\` =~ /inet ([0-9.]+)/;
print "listens ", $address || "127.0.0.1", " $port\\n";
accept(my $caller, $door) while 1;
`,
  // Takes all the processor time that it gets for a while, and says how many seconds that were. Not at once: to start,
  // bots may take more.
  'burn.pl': `
use Time::HiRes "time";
sleep 4;
my $until = time + 6;
sub used { my ($user, $system) = times; $user + $system }
for (1 .. 4) { if (!fork) { 1 while used() < 0.1 && time < $until; exit } }
1 while wait > 0;
my (undef, undef, $user, $system) = times;
print $user + $system, " seconds\n";
`,
  // Says of each attack whether it got through, in the order of the list.
  'all.sh': `
for file in $(ls attacks); do
  if timeout 20 sh "attacks/$file" >/dev/null 2>&1; then echo "$file through"; else echo "$file stopped"; fi
done
echo end
`,
} as const
