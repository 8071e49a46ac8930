/**
 * The empty project of a new bot: one small program that says hello, then shows every minute that it is alive, and ends
 * at once when asked to. It needs nothing but the language.
 */
export function starterFiles(languageId: string | undefined): Record<string, string> {
  return { ...(starters.get(languageId ?? 'javascript') ?? starters.get('javascript')) }
}

const hello = 'Hello from Botberth. Replace this file with your bot.'

const javascript = `process.on('SIGTERM', () => process.exit(0))

console.log('${hello}')

setInterval(() => console.log('Still here.'), 60_000)
`

const typescript = `const startedAt: Date = new Date()

process.on('SIGTERM', () => process.exit(0))

console.log('${hello}')

setInterval((): void => console.log(\`Still here, since \${startedAt.toISOString()}.\`), 60_000)
`

const python = `import signal
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

print("${hello}", flush=True)

while True:
    time.sleep(60)
    print("Still here.", flush=True)
`

const go = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	fmt.Println("${hello}")
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Minute):
			fmt.Println("Still here.")
		}
	}
}
`

// Java exits with 143 on SIGTERM unless a hook halts it first.
const java = `public class Main {
    public static void main(String[] args) throws InterruptedException {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
        System.out.println("${hello}");
        while (true) {
            Thread.sleep(60_000);
            System.out.println("Still here.");
        }
    }
}
`

const kotlin = `fun main() {
    Runtime.getRuntime().addShutdownHook(Thread { Runtime.getRuntime().halt(0) })
    println("${hello}")
    while (true) {
        Thread.sleep(60_000)
        println("Still here.")
    }
}
`

// The standard library knows no signals: SIGTERM ends it at once all the same.
const rust = `use std::{thread, time::Duration};

fn main() {
    println!("${hello}");
    loop {
        thread::sleep(Duration::from_secs(60));
        println!("Still here.");
    }
}
`

const ruby = `$stdout.sync = true
trap("TERM") { exit!(0) }

puts "${hello}"

loop do
  sleep 60
  puts "Still here."
end
`

const php = `<?php
// Without the pcntl extension SIGTERM ends the program at once all the same.
if (function_exists('pcntl_async_signals')) {
    pcntl_async_signals(true);
    pcntl_signal(SIGTERM, fn () => exit(0));
}

echo "${hello}\\n";

while (true) {
    // A signal ends the pause early.
    if (sleep(60) === 0) {
        echo "Still here.\\n";
    }
}
`

const csharp = `using System.Runtime.InteropServices;

using var onStop = PosixSignalRegistration.Create(PosixSignal.SIGTERM, _ => Environment.Exit(0));

Console.WriteLine("${hello}");

while (true)
{
    Thread.Sleep(60_000);
    Console.WriteLine("Still here.");
}
`

const csproj = `<Project Sdk="Microsoft.NET.Sdk">

  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net$(BundledNETCoreAppTargetFrameworkVersion)</TargetFramework>
    <ImplicitUsings>enable</ImplicitUsings>
    <UseAppHost>false</UseAppHost>
  </PropertyGroup>

</Project>
`

const deno = `Deno.addSignalListener('SIGTERM', () => Deno.exit(0))

console.log('${hello}')

setInterval(() => console.log('Still here.'), 60_000)
`

const cargo = `[package]
name = "bot"
version = "0.1.0"
edition = "2021"
`

const starters: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map([
  ['javascript', { 'index.js': javascript }],
  ['typescript', { 'index.ts': typescript }],
  ['bun', { 'index.ts': typescript }],
  ['deno', { 'main.ts': deno }],
  ['python', { 'main.py': python }],
  ['go', { 'go.mod': 'module bot\n\ngo 1.18\n', 'main.go': go }],
  ['java', { 'Main.java': java }],
  ['kotlin', { 'Main.kt': kotlin }],
  ['rust', { 'Cargo.toml': cargo, 'src/main.rs': rust }],
  ['ruby', { 'main.rb': ruby }],
  ['php', { 'main.php': php }],
  ['csharp', { 'bot.csproj': csproj, 'Program.cs': csharp }],
])
