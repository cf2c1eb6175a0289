// A loopback fixture for clients that cannot send a token: adds it, and passes on everything else as it is, Host and Origin
// included.
import { createServer, request } from 'node:http';

const [port, token] = process.argv.slice(2);
createServer((incoming, outgoing) => {
	const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
	const onward = request({ host: '127.0.0.1', port, path: incoming.url, method: incoming.method, headers }, (reply) => {
		outgoing.writeHead(reply.statusCode, reply.headers);
		reply.pipe(outgoing);
	});
	onward.on('error', () => outgoing.destroy());
	outgoing.on('close', () => onward.destroy());
	incoming.pipe(onward);
}).listen(0, '127.0.0.1', function listening() {
	console.log(this.address().port);
});
