// Puts directories into the container `lake` of an emulator of Azure's blob service, each below `wh/`, with requests signed by
// its shared key. usage: node azure_upload.js PORT ACCOUNT KEY ROOT DIRECTORY...
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const path = require('path');

const [port, account, key, root, ...directories] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

function put(location, query, headers, body) {
    const all = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-08-06', ...headers };
    const canonical = Object.keys(all).filter((name) => name.startsWith('x-ms-')).sort()
        .map((name) => `${name}:${all[name]}\n`).join('');
    const parameters = Object.keys(query).sort().map((name) => `\n${name}:${query[name]}`).join('');
    const length = body.length === 0 ? '' : String(body.length);
    const text = `PUT\n\n\n${length}\n\n\n\n\n\n\n\n\n${canonical}/${account}/${account}${location}${parameters}`;
    const signature = crypto.createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');
    all.Authorization = `SharedKey ${account}:${signature}`;
    all['Content-Length'] = body.length;
    const search = new URLSearchParams(query).toString();
    const target = `/${account}${location}${search ? `?${search}` : ''}`;
    return new Promise((resolve, reject) => {
        const request = http.request({ host: '127.0.0.1', port, method: 'PUT', path: target, headers: all, agent }, (answer) => {
            let said = '';
            answer.on('data', (part) => { said += part; });
            answer.on('end', () => (answer.statusCode === 201 ? resolve() : reject(new Error(`${target}: ${answer.statusCode} ${said}`))));
        });
        request.on('error', reject);
        request.end(body);
    });
}

function filesBelow(directory) {
    return fs.readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
        const below = path.join(directory, entry.name);
        return entry.isDirectory() ? filesBelow(below) : [below];
    });
}

async function main() {
    await put('/lake', { restype: 'container' }, {}, Buffer.alloc(0));
    for (const directory of directories) {
        for (const file of filesBelow(path.join(root, directory))) {
            const name = path.relative(root, file).split('/').map(encodeURIComponent).join('/');
            await put(`/lake/wh/${name}`, {}, { 'x-ms-blob-type': 'BlockBlob' }, fs.readFileSync(file));
        }
    }
}

main().then(() => process.exit(0), (error) => { console.error(error.message); process.exit(1); });
