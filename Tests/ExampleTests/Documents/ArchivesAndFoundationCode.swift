// swift-format-ignore-file
// It is laid out as ArchivesAndFoundation.md shows it.

#if canImport(FoundationCoding)
    import DistantObjects
    import Foundation
    import FoundationCoding
    import KeyedArchive
    import Testing

    /// The code of ArchivesAndFoundation.md.
    enum ArchivesAndFoundationCode {
        // ArchivesAndFoundation.md: class
        final class Note: ObjectCoding {
            let text: String
            let stars: Int

            init(text: String, stars: Int) {
                self.text = text
                self.stars = stars
            }

            init(coder: ObjectDecoder) throws {
                text = try coder.decode(String.self, forKey: "text")
                stars = try coder.decode(Int.self, forKey: "stars")
            }

            func encode(with coder: ObjectEncoder) throws {
                try coder.encode(text, forKey: "text")
                try coder.encode(stars, forKey: "stars")
            }
        }
        // end

        static func write() throws -> Data {
            // ArchivesAndFoundation.md: write
            let archiver = KeyedArchiver(format: .binary)
            try archiver.encode(Note(text: "Milk", stars: 2), forKey: "note")
            let data: Data = try archiver.finish()
            // end
            return data
        }

        static func read(_ data: Data) throws -> Note {
            // ArchivesAndFoundation.md: read
            let unarchiver = try KeyedUnarchiver(data)
            let note = try unarchiver.decode(Note.self, forKey: "note")
            // end
            return note
        }

        static func readOther(_ data: Data) throws -> Note {
            // ArchivesAndFoundation.md: another name
            var classes = ClassRegistry()
            classes.setClass(Note.self, forName: "ABCNote")
            let unarchiver = try KeyedUnarchiver(data, classes: classes)
            // end
            return try unarchiver.decode(Note.self, forKey: "note")
        }

        // ArchivesAndFoundation.md: as it is
        final class Song: NSObject, NSSecureCoding {
            static var supportsSecureCoding: Bool { true }
            let title: String

            init(title: String) { self.title = title }

            init?(coder: NSCoder) {
                guard let title = coder.decodeObject(of: NSString.self, forKey: "title") else { return nil }
                self.title = title as String
            }

            func encode(with coder: NSCoder) { coder.encode(title as NSString, forKey: "title") }
        }
        // end

        static func bothWays() throws -> Song? {
            // ArchivesAndFoundation.md: one call
            let data = try NSCodingArchiver.archivedData(withRootObject: Song(title: "Waves"))
            let song = try NSCodingUnarchiver.unarchivedObject(ofClass: Song.self, from: data)
            // end
            return song
        }

        // ArchivesAndFoundation.md: message
        final class Jukebox: Vendable {
            static var messages: MessageTable<Jukebox> {
                Message("loudest", Jukebox.loudest)
            }

            func loudest(_ song: NSCoded<Song>) -> NSCoded<Song> {
                NSCoded(Song(title: song.object.title.uppercased()))
            }
        }
        // end

        static func send(_ jukebox: DistantObject) async throws -> String {
            // ArchivesAndFoundation.md: call
            let loud: NSCoded<Song> = try await jukebox.loudest(NSCoded(Song(title: "Waves")))
            // end
            return loud.object.title
        }

        static func look(into data: Data) throws -> [UInt8] {
            // ArchivesAndFoundation.md: without classes
            let graph = try ArchivedGraph(data)
            for key in graph.roots.keys { print(key) }
            let text = try graph.bytes(format: .xml)
            // end
            return text
        }
    }

    /// The class of another program for Foundation's coders, which on Linux accept only top-level classes.
    class ABCNote: NSObject, NSSecureCoding {
        class var supportsSecureCoding: Bool { true }
        let text: NSString?
        let stars: Int

        init(text: NSString?, stars: Int) { (self.text, self.stars) = (text, stars) }

        required convenience init?(coder: NSCoder) {
            self.init(
                text: coder.decodeObject(of: NSString.self, forKey: "text"),
                stars: coder.decodeInteger(forKey: "stars"))
        }

        func encode(with coder: NSCoder) {
            coder.encode(text, forKey: "text")
            coder.encode(stars, forKey: "stars")
        }
    }

    final class Note: ABCNote {}

    @Suite("The article “Archives and Foundation”")
    struct ArchivesAndFoundationTests {
        @Test("Foundation's unarchiver reads the archive of the example")
        func write() throws {
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: ArchivesAndFoundationCode.write())
            unarchiver.setClass(ABCNote.self, forClassName: "Note")
            let note = unarchiver.decodeObject(of: ABCNote.self, forKey: "note")
            #expect(note?.text == "Milk" && note?.stars == 2)
        }

        @Test("The example reads archives of Foundation, under its own class name and another")
        func read() throws {
            // Foundation puts the module's name before both names.
            for (written, read) in [
                (Note(text: "Milk", stars: 2), ArchivesAndFoundationCode.read),
                (ABCNote(text: "Milk", stars: 2), ArchivesAndFoundationCode.readOther),
            ] {
                let archiver = NSKeyedArchiver(requiringSecureCoding: true)
                archiver.encode(written, forKey: "note")
                let note = try read(archiver.encodedData)
                #expect(note.text == "Milk" && note.stars == 2)
            }
        }

        @Test("A class written for Foundation goes into an archive and a message")
        func song() async throws {
            #expect(try ArchivesAndFoundationCode.bothWays()?.title == "Waves")
            let (client, server) = try await Connection.pair(first: .patientExample, second: .patientExample)
            server.vend(ArchivesAndFoundationCode.Jukebox())
            #expect(try await ArchivesAndFoundationCode.send(client.root) == "WAVES")
            await client.close()
        }

        @Test("An archive is converted without its classes")
        func graph() throws {
            let text = try ArchivesAndFoundationCode.look(into: ArchivesAndFoundationCode.write())
            #expect(String(decoding: text, as: UTF8.self).contains("<string>Milk</string>"))
        }
    }
#endif
