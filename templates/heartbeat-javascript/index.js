// Logs a heartbeat every few seconds until it is asked to stop.
const seconds = Number(process.env.INTERVAL_SECONDS) || 5
let beats = 0

console.log(`Hello from Node.js ${process.version}. A heartbeat every ${seconds} s.`)

const timer = setInterval(() => {
  beats += 1
  console.log(`heartbeat ${beats}, up for ${Math.round(process.uptime())} s`)
}, seconds * 1000)

process.on('SIGTERM', () => {
  clearInterval(timer)
  console.log('Asked to stop. Goodbye.')
})
